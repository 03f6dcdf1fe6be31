// Command bootstrap is the Lambda of package jobworker.
package main

import (
	"log"

	"github.com/aws/aws-lambda-go/lambda"

	"bailing/functions/jobworker"
	"bailing/shared/platform"
)

func main() {
	p, err := platform.Load("jobworker")
	if err != nil {
		log.Fatal(err)
	}
	h, err := jobworker.New(p)
	if err != nil {
		log.Fatal(err)
	}
	lambda.Start(h)
}
