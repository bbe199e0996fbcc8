"""Long jobs that commands run or wait for."""
