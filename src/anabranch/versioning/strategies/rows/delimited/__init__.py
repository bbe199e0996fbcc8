"""CSV and TSV: `csv_table` reads the cells of a file, `records` where they are spelled, and
`csv_merge` writes a merge with the spelling of its sides.
"""
