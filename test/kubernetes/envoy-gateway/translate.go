// Prints as JSON what Envoy Gateway's control plane makes of objects of Gateway API, which it reads as JSON: the endpoints that it would
// configure in Envoy, and the objects' status.
package main

import (
	"encoding/json"
	"io"
	"os"

	egv1a1 "github.com/envoyproxy/gateway/api/v1alpha1"
	"github.com/envoyproxy/gateway/internal/gatewayapi"
	"github.com/envoyproxy/gateway/internal/gatewayapi/resource"
	"github.com/envoyproxy/gateway/internal/logging"
	gwapiv1 "sigs.k8s.io/gateway-api/apis/v1"
)

func main() {
	input, err := io.ReadAll(os.Stdin)
	check(err)
	resources := &resource.Resources{}
	check(json.Unmarshal(input, resources))
	translator := &gatewayapi.Translator{
		GatewayControllerName: string(resources.GatewayClass.Spec.ControllerName),
		GatewayClassName:      gwapiv1.ObjectName(resources.GatewayClass.Name),
		Logger:                logging.DefaultLogger(os.Stderr, egv1a1.LogLevelInfo),
	}
	result, err := translator.Translate(resources)
	check(err)
	check(json.NewEncoder(os.Stdout).Encode(result))
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}
