package dynamodb

import (
	"io"
	"net/http"
	"strings"
	"testing"
)

// raw posts a request without the SDK.
func (b *bundle) raw(t *testing.T, method, target, body string) (status int, header http.Header, answer string) {
	t.Helper()
	r, err := http.NewRequestWithContext(b.ctx, method, b.url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("X-Amz-Target", target)
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	out, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, resp.Header, string(out)
}

func TestAnswersHaveTheWireForm(t *testing.T) {
	t.Parallel()
	b := setupTable(t)
	const prefix = "DynamoDB_20120810."
	cases := []struct {
		name, target, body string
		status             int
		answer             string // a part of it
	}{
		{"success", prefix + "PutItem", `{"TableName":"things","Item":{"pk":{"S":"k"},"sk":{"S":"1"}}}`, 200, `{}`},
		{"item", prefix + "GetItem", `{"TableName":"things","Key":{"pk":{"S":"k"},"sk":{"S":"1"}}}`, 200, `{"Item":{"pk":{"S":"k"},"sk":{"S":"1"}}}`},
		{"null members are absent", prefix + "GetItem", `{"TableName":"things","Key":{"pk":{"S":"k"},"sk":{"S":"2"}},"ProjectionExpression":null,"AttributesToGet":null}`, 200, `{}`},
		{"modelled error", prefix + "PutItem", `{"TableName":"things","Item":{"pk":{"S":"k"},"sk":{"S":"1"}},"ConditionExpression":"attribute_not_exists(pk)","ReturnValuesOnConditionCheckFailure":"ALL_OLD"}`, 400, `{"__type":"com.amazonaws.dynamodb.v20120810#ConditionalCheckFailedException","message":"The conditional request failed","Item":{"pk":{"S":"k"},"sk":{"S":"1"}}}`},
		{"validation error", prefix + "PutItem", `{"TableName":"things","Item":{"pk":{"S":"k"}}}`, 400, `"__type":"com.amazon.coral.validate#ValidationException"`},
		{"unknown operation", prefix + "CreateBackup", `{}`, 400, `"__type":"com.amazon.coral.service#UnknownOperationException","message":"The operation \"CreateBackup\" is not implemented"`},
		{"another service", "AmazonSQS.SendMessage", `{}`, 400, `UnknownOperationException`},
		{"not JSON", prefix + "GetItem", `{"TableName"`, 400, `SerializationException`},
		{"JSON and more", prefix + "GetItem", `{} {}`, 400, `SerializationException`},
		{"no object", prefix + "GetItem", `[]`, 400, `SerializationException`},
		{"member of another type", prefix + "GetItem", `{"TableName":5,"Key":{}}`, 400, `SerializationException`},
		{"missing member", prefix + "GetItem", `{"TableName":"things"}`, 400, `'Key' failed`},
		{"unknown enum value", prefix + "PutItem", `{"TableName":"things","Item":{},"ReturnValues":"ALL_NEW"}`, 400, `ReturnValues`},
		{"too large", prefix + "PutItem", `{"TableName":"` + strings.Repeat("x", 16<<20), 400, `ValidationException`},
	}
	for _, c := range cases {
		status, header, answer := b.raw(t, http.MethodPost, c.target, c.body)
		if status != c.status || !strings.Contains(answer, c.answer) {
			t.Errorf("%s: %d %s, want %d with %s", c.name, status, answer, c.status, c.answer)
		}
		if header.Get("X-Amzn-Requestid") == "" || header.Get("Content-Type") != "application/x-amz-json-1.0" || header.Get("X-Amz-Crc32") == "" {
			t.Errorf("%s: headers %v", c.name, header)
		}
	}
	if status, _, _ := b.raw(t, http.MethodGet, "", ""); status != http.StatusMethodNotAllowed {
		t.Errorf("GET: %d", status)
	}
}

// TestMembersThatAreNotImplementedAreNamed holds the rule that nothing is ignored in silence.
func TestMembersThatAreNotImplementedAreNamed(t *testing.T) {
	t.Parallel()
	b := setupTable(t)
	const key = `"TableName":"things","Key":{"pk":{"S":"k"},"sk":{"S":"1"}}`
	const item = `"TableName":"things","Item":{"pk":{"S":"k"},"sk":{"S":"1"}}`
	cases := map[string]struct{ action, body string }{
		"AttributesToGet":                     {"GetItem", `{` + key + `,"AttributesToGet":["x"]}`},
		"Expected":                            {"PutItem", `{` + item + `,"Expected":{}}`},
		"ConditionalOperator":                 {"DeleteItem", `{` + key + `,"ConditionalOperator":"AND"}`},
		"AttributeUpdates":                    {"UpdateItem", `{` + key + `,"AttributeUpdates":{}}`},
		"QueryFilter":                         {"Query", `{"TableName":"things","KeyConditionExpression":"pk = :p","ExpressionAttributeValues":{":p":{"S":"k"}},"QueryFilter":{}}`},
		"ScanFilter":                          {"Scan", `{"TableName":"things","ScanFilter":{}}`},
		"RequestItems.things.AttributesToGet": {"BatchGetItem", `{"RequestItems":{"things":{"Keys":[{"pk":{"S":"k"},"sk":{"S":"1"}}],"AttributesToGet":["x"]}}}`},
		"RequestItems.things[0].PutRequest.Expires": {"BatchWriteItem", `{"RequestItems":{"things":[{"PutRequest":{"Item":{"pk":{"S":"k"},"sk":{"S":"1"}},"Expires":1}}]}}`},
		"TransactItems[0].Put.ReturnValues":         {"TransactWriteItems", `{"TransactItems":[{"Put":{` + item + `,"ReturnValues":"NONE"}}]}`},
		"TransactItems[0].Get.ConsistentRead":       {"TransactGetItems", `{"TransactItems":[{"Get":{` + key + `,"ConsistentRead":true}}]}`},
		"SSESpecification":                          {"CreateTable", `{"TableName":"other","BillingMode":"PAY_PER_REQUEST","AttributeDefinitions":[{"AttributeName":"pk","AttributeType":"S"}],"KeySchema":[{"AttributeName":"pk","KeyType":"HASH"}],"SSESpecification":{}}`},
		"Whatever":                                  {"ListTables", `{"Whatever":1}`},
	}
	for member, c := range cases {
		status, _, answer := b.raw(t, http.MethodPost, "DynamoDB_20120810."+c.action, c.body)
		if status != 400 || !strings.Contains(answer, "ValidationException") || !strings.Contains(answer, "member "+member+" ") {
			t.Errorf("%s with %s: %d %s", c.action, member, status, answer)
		}
	}
	if got := b.get(t, keyOf("k", "1")); got != nil {
		t.Errorf("a refused request wrote %v", got)
	}
}

func FuzzRequest(f *testing.F) {
	b := setupTable(f)
	actions := []string{"CreateTable", "PutItem", "GetItem", "UpdateItem", "DeleteItem", "Query", "Scan", "BatchGetItem", "BatchWriteItem", "TransactWriteItems", "TransactGetItems", "UpdateTimeToLive", "ListTables"}
	for i, body := range []string{
		`{"TableName":"things","Item":{"pk":{"S":"k"},"sk":{"S":"1"},"b":{"N":"1"}}}`, `{"TableName":"things","Key":{"pk":{"S":"k"},"sk":{"S":"1"}},"UpdateExpression":"SET x = :x","ExpressionAttributeValues":{":x":{"N":"1"}}}`,
		`{"TableName":"things","KeyConditionExpression":"pk = :p","ExpressionAttributeValues":{":p":{"S":"k"}},"Limit":1}`, `{"RequestItems":{"things":{"Keys":[{"pk":{"S":"k"},"sk":{"S":"1"}}]}}}`,
		`{"RequestItems":{"things":[{"DeleteRequest":{"Key":{"pk":{"S":"k"},"sk":{"S":"1"}}}}]}}`, `{"TransactItems":[{"Put":{"TableName":"things","Item":{"pk":{"S":"k"},"sk":{"S":"1"}}}}]}`, `{"RequestItems":[]}`, `{"TransactItems":[null,1]}`,
	} {
		f.Add(uint8(i), body)
	}
	f.Fuzz(func(t *testing.T, action uint8, body string) {
		_, err := b.service.run(t.Context(), actions[int(action)%len(actions)], "", []byte(body))
		if err != nil && asAPIError(err).code == codeInternal {
			t.Errorf("%s is an internal error: %v", body, err)
		}
	})
}
