"""Functions of tables in SQL, `FROM name('argument')`, and the relations that they return."""
