// Command bootstrap is the Lambda of package approvals.
package main

import (
	"log"

	"github.com/aws/aws-lambda-go/lambda"

	"bailing/functions/approvals"
	"bailing/shared/platform"
)

func main() {
	p, err := platform.Load("approvals")
	if err != nil {
		log.Fatal(err)
	}
	h, err := approvals.New(p)
	if err != nil {
		log.Fatal(err)
	}
	lambda.Start(h)
}
