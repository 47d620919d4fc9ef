# Everything a developer runs. "make" alone lists it.
export PATH := $(CURDIR)/node_modules/.bin:$(PATH)
NPM := npm run --silent

# Where the demo's objects come from: manifests, kubernetes (a real API server), or controller (three of them, with a
# clusterset-controller each). The last two need Go.
SOURCE ?= manifests

.DEFAULT_GOAL := help
.PHONY: help prepare kubernetes demo lab lab-down test check unit kernel vm bench build clean
# One after the other, whatever -j says: their output is for reading, and the machine may be small.
.NOTPARALLEL:

help: ## this list
	@sed -n 's/^\([a-z-]*\):[^#]*## \(.*\)/  make \1\t\2/p' Makefile | expand -t 18

prepare: ## install what is missing, root needed for Debian packages
	@scripts/prepare

kubernetes: prepare ## build the real Kubernetes of the tests, needs Go: minutes the first time, then nothing
	@test/kubernetes/build etcd kube-apiserver kube-controller-manager kube-proxy >/dev/null

demo: prepare $(if $(filter kubernetes controller,$(SOURCE)),kubernetes) ## watch one service fail over between three clusters and back: 22 s, needs root
	@node test/demo/main.ts $(SOURCE)

lab: ## real clusters to play with, CLUSTERS=3 NODES=1 REGIONS="eu-west eu-west us-east" PROXY=iptables, needs root and Go
	@scripts/prepare lab
	@node test/cluster/main.ts up

lab-down: ## take them down, and remove what crashed runs have left
	@node test/cluster/main.ts down

test: check unit kernel ## everything: static checks, unit tests, and tests against this kernel, needs root and Go

check: prepare ## types, style, lint, architecture
	@$(NPM) check

unit: prepare ## unit tests: no root, about 20 seconds
	@$(NPM) test

kernel: ## tests in network namespaces of this machine, on real clusters, and in a virtual machine, needs root and Go
	@scripts/prepare lab
	@scripts/prepare vm
	@test/kubernetes/build etcd kube-apiserver kube-controller-manager kube-proxy kube-scheduler kubelet kubectl coredns >/dev/null
	@$(NPM) test:kernel

vm: ## tests on another kernel, in a virtual machine: IPVS, and iptables once again, needs root and Go
	@scripts/prepare vm
	@test/kubernetes/build kube-proxy >/dev/null
	@$(NPM) test:vm

bench: prepare kubernetes ## what it costs, beside kube-proxy and bare iptables-restore: 22 minutes, QUICK=1 three, needs root
	@node test/bench/main.ts

build: prepare ## bundle the programs into dist/
	@$(NPM) build

clean: ## remove what was built, and what crashed runs of the lab have left
	rm -rf dist coverage
	@if [ -x node_modules/.bin/node ]; then node test/lab/sweep.ts; fi
