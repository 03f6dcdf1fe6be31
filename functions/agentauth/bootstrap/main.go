// Command bootstrap is the Lambda of package agentauth.
package main

import (
	"log"

	"github.com/aws/aws-lambda-go/lambda"

	"bailing/functions/agentauth"
	"bailing/shared/platform"
)

func main() {
	p, err := platform.Load("agentauth")
	if err != nil {
		log.Fatal(err)
	}
	h, err := agentauth.New(p)
	if err != nil {
		log.Fatal(err)
	}
	lambda.Start(h)
}
