// Command bootstrap is the Lambda of package refresher.
package main

import (
	"log"

	"github.com/aws/aws-lambda-go/lambda"

	"bailing/functions/refresher"
	"bailing/shared/platform"
)

func main() {
	p, err := platform.Load("refresher")
	if err != nil {
		log.Fatal(err)
	}
	h, err := refresher.New(p)
	if err != nil {
		log.Fatal(err)
	}
	lambda.Start(h)
}
