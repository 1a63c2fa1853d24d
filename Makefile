# The commands of the README. Each does its own set-up.
.PHONY: help demo demo-cluster demo-nodes test quick setup wheel docs clean

help:
	@echo 'make demo   a simulation writes its steps to objects, an analysis reads them live, compared with BP5'
	@echo 'make demo-cluster  the same on a Ceph cluster of this machine, one of whose OSDs is killed'
	@echo 'make demo-nodes  the same on two machines that share a CephFS; one of them is killed (as root)'
	@echo 'make test   all tests'
	@echo 'make quick  the tests that take seconds: three minutes on two cores, once all is built'
	@echo 'make setup  only what both need: packages, .venv, the stepstore command'
	@echo 'make wheel  wheels for Linux from RHEL 8 on, tried with each Python at hand, into dist/'
	@echo 'make docs   the site with search, into build/site; it needs no network to be read'
	@echo 'make clean  remove build/, .venv/, demo/ and dist/ (not ~/.cache/stepstore)'

demo:
	@scripts/demo.sh

demo-cluster:
	@scripts/demo-cluster.sh

demo-nodes:
	@scripts/demo-nodes.sh

test:
	@scripts/test.sh

quick:
	@QUICK=1 scripts/test.sh

setup:
	@scripts/setup.sh

wheel:
	@scripts/wheel.sh

docs:
	@scripts/docs.sh

clean:
	rm -rf build .venv demo dist
