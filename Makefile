# The developer's commands; "make" alone lists them. Each installs what it needs (scripts/prepare).
# The project's own Node comes first; sbin is not in the path of every root shell.
export PATH := $(CURDIR)/node_modules/.bin:$(PATH):/usr/sbin:/sbin

# Where the demo's objects come from: manifests, kubernetes (one real API server), or controller (three API servers, each with
# a clusterset-controller); same-name: the same as controller, with a kube-proxy in place of the agent.
SOURCE ?= manifests

.DEFAULT_GOAL := help
.PHONY: help prepare kubernetes demo lab lab-down test test-all check unit sample bench build release conformance clean
# Without parallel targets, even with -j: the output stays readable, and the tests use all processors themselves.
.NOTPARALLEL:

help: ## list the commands
	@sed -n 's/^\([a-z-]*\):[^#]*## \(.*\)/  make \1\t\2/p' Makefile | expand -t 18

prepare: ## install what is missing; needs root for Debian packages
	@scripts/prepare

kubernetes: ## build the Kubernetes of the tests: minutes the first time, nothing after that
	@scripts/prepare kubernetes
	@test/kubernetes/build etcd kube-apiserver kube-controller-manager kube-proxy >/dev/null

demo: prepare $(if $(filter kubernetes controller same-name,$(SOURCE)),kubernetes) ## show failover between three clusters and back: 22 s; needs root; SOURCE=kubernetes, SOURCE=controller, SOURCE=same-name
	@node demo/main.ts $(SOURCE)

lab: ## start real clusters: CLUSTERS=3 NODES=1 REGIONS="eu-west eu-west us-east" PROXY=iptables; needs root
	@scripts/prepare lab
	@node demo/lab/main.ts up

lab-down: ## remove the real clusters, and what crashed runs have left
	@node demo/lab/main.ts down

test: ## run the tests: less than 10 minutes on two slow processors, more the first time; needs root
	@scripts/prepare kubernetes lab vm
	@node scripts/test.ts test

test-all: test ## run all tests, before a release; needs root
	@scripts/prepare kubernetes lab vm
	@node scripts/test.ts rest

# What scripts/fresh runs to show that nothing is missing on a new machine: files that need each kind of program that scripts/prepare installs.
SAMPLE := test/kernel/agent test/backends/held test/apiserver/registry-objects test/e2e/journey test/ipvs/agent test/monitoring/alerts test/packages/charts
sample:
	@scripts/prepare kubernetes lab vm
	@node scripts/test.ts $(SAMPLE:%=%.test.ts)

check: prepare ## check types, format, lint, architecture, documents and charts: seconds
	@node scripts/check.ts

unit: prepare ## run the unit tests: 242 s of processor time on a slow machine
	@node scripts/test.ts unit

bench: prepare kubernetes ## measure the agent beside kube-proxy, iptables-restore and nft: 33 minutes, with QUICK=1 six; needs root
	@node bench/main.ts

build: prepare ## bundle the programs into dist/
	@node scripts/build.ts

release: prepare ## make all artefacts of this version in dist/, with checksums; IMAGES=1: images, too, with buildah
	@scripts/prepare kubernetes
	@test/kubernetes/build kubectl helm >/dev/null
	@node scripts/release.ts

conformance: ## run the conformance cases on real clusters and write a report to dist/reports; needs root
	@scripts/prepare lab
	@test/kubernetes/build etcd kube-apiserver kube-controller-manager kube-proxy kube-scheduler kubelet kubectl coredns >/dev/null
	@node scripts/conformance.ts

clean: ## remove dist/, and what crashed runs of the lab have left
	rm -rf dist coverage
	@if [ -x node_modules/.bin/node ]; then node test/lab/sweep.ts; fi
