// Command bootstrap is the Lambda of package admin.
package main

import (
	"log"

	"github.com/aws/aws-lambda-go/lambda"

	"bailing/functions/admin"
	"bailing/shared/platform"
)

func main() {
	p, err := platform.Load("admin")
	if err != nil {
		log.Fatal(err)
	}
	h, err := admin.New(p)
	if err != nil {
		log.Fatal(err)
	}
	lambda.Start(h)
}
