# The commands of the README. Each does its own set-up.
.PHONY: help demo test setup clean

help:
	@echo 'make demo   a simulation writes its steps to objects, an analysis reads them live, compared with BP5'
	@echo 'make test   all tests'
	@echo 'make setup  only what both need: packages, .venv, the stepstore command'
	@echo 'make clean  remove build/, .venv/ and demo/ (the cached ADIOS2 build in ~/.cache/stepstore stays)'

demo:
	@scripts/demo.sh

test:
	@scripts/test.sh

setup:
	@scripts/setup.sh

clean:
	rm -rf build .venv demo
