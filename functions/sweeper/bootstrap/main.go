// Command bootstrap is the Lambda of package sweeper.
package main

import (
	"log"

	"github.com/aws/aws-lambda-go/lambda"

	"bailing/functions/sweeper"
	"bailing/shared/platform"
)

func main() {
	p, err := platform.Load("sweeper")
	if err != nil {
		log.Fatal(err)
	}
	h, err := sweeper.New(p)
	if err != nil {
		log.Fatal(err)
	}
	lambda.Start(h)
}
