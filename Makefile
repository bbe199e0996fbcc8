PYTHON ?= .venv/bin/python

.PHONY: records
records:  ## generate the Python of src/anabranch/records/lakefs.proto
	$(PYTHON) -m grpc_tools.protoc -Isrc --python_out=src --pyi_out=src anabranch/records/lakefs.proto
