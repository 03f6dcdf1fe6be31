// Command bootstrap is the Lambda of package callbackworker.
package main

import (
	"log"

	"github.com/aws/aws-lambda-go/lambda"

	"bailing/functions/callbackworker"
	"bailing/shared/platform"
)

func main() {
	p, err := platform.Load("callbackworker")
	if err != nil {
		log.Fatal(err)
	}
	h, err := callbackworker.New(p)
	if err != nil {
		log.Fatal(err)
	}
	lambda.Start(h)
}
