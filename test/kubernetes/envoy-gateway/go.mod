// The version of Envoy Gateway in tests, pinned by go.sum. "build" compiles its sources, by its own go.mod.
module clusterset-proxy.io/test/kubernetes/envoy-gateway

go 1.26.6

require github.com/envoyproxy/gateway v1.9.0
