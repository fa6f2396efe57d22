module assay/build/rename

go 1.26
