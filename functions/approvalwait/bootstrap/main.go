// Command bootstrap is the Lambda of package approvalwait.
package main

import (
	"log"

	"github.com/aws/aws-lambda-go/lambda"

	"bailing/functions/approvalwait"
	"bailing/shared/platform"
)

func main() {
	p, err := platform.Load("approvalwait")
	if err != nil {
		log.Fatal(err)
	}
	h, err := approvalwait.New(p)
	if err != nil {
		log.Fatal(err)
	}
	lambda.Start(h)
}
