// Command bootstrap is the Lambda of package runs.
package main

import (
	"log"

	"github.com/aws/aws-lambda-go/lambda"

	"bailing/functions/runs"
	"bailing/shared/platform"
)

func main() {
	p, err := platform.Load("runs")
	if err != nil {
		log.Fatal(err)
	}
	h, err := runs.New(p)
	if err != nil {
		log.Fatal(err)
	}
	lambda.Start(h)
}
