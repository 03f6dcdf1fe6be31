// Command bare is a function that does nothing: what Go and the Lambda runtime cost by themselves.
package main

import (
	"context"
	"encoding/json"

	"github.com/aws/aws-lambda-go/lambda"
)

func main() {
	lambda.Start(func(_ context.Context, event json.RawMessage) (json.RawMessage, error) { return event, nil })
}
