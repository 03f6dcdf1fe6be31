package sqs_test

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	client "github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
)

func TestQueueAddressesFollowTheHostThatWasAsked(t *testing.T) {
	t.Parallel()
	e := setup(t)
	q := e.queue("jobs")
	if want := e.url + "/000000000000/jobs"; *q != want {
		t.Errorf("url %s, want %s", *q, want)
	}
	if got, want := e.attribute(q, "QueueArn"), "arn:aws:sqs:us-east-1:000000000000:jobs"; got != want {
		t.Errorf("arn %s, want %s", got, want)
	}
	o, err := e.c.GetQueueUrl(t.Context(), &client.GetQueueUrlInput{QueueName: aws.String("jobs")})
	if err != nil || *o.QueueUrl != *q {
		t.Errorf("GetQueueUrl: %v %v", o, err)
	}
	_, err = e.c.GetQueueUrl(t.Context(), &client.GetQueueUrlInput{QueueName: aws.String("none")})
	wantCode(t, err, "AWS.SimpleQueueService.NonExistentQueue")
}

func TestCreateQueueRules(t *testing.T) {
	t.Parallel()
	e := setup(t)
	e.queue("there", "VisibilityTimeout", "7")
	dlq := e.attribute(e.queue("dlq"), "QueueArn")
	policy := func(max string) string {
		return fmt.Sprintf(`{"deadLetterTargetArn":%q,"maxReceiveCount":%s}`, dlq, max)
	}
	const (
		value       = "InvalidAttributeValue"
		parameter   = "InvalidParameterValue"
		unsupported = "AWS.SimpleQueueService.UnsupportedOperation"
	)
	for i, tc := range []struct{ rule, name, attribute, value, want string }{
		{"same attributes again", "there", "VisibilityTimeout", "7", ""},
		{"exists, attributes not named", "there", "", "", ""},
		{"exists with another value", "there", "VisibilityTimeout", "8", "QueueAlreadyExists"},
		{"name of 80", strings.Repeat("n", 80), "", "", ""},
		{"name of 81", strings.Repeat("n", 81), "", "", parameter},
		{"name with a dot", "a.b", "", "", parameter},
		{"FIFO name", "a.fifo", "FifoQueue", "true", unsupported},
		{"FIFO attribute", "", "FifoQueue", "true", unsupported},
		{"visibility limit", "", "VisibilityTimeout", "43200", ""},
		{"past the visibility limit", "", "VisibilityTimeout", "43201", value},
		{"delay limit", "", "DelaySeconds", "900", ""},
		{"past the delay limit", "", "DelaySeconds", "901", value},
		{"wait limit", "", "ReceiveMessageWaitTimeSeconds", "20", ""},
		{"past the wait limit", "", "ReceiveMessageWaitTimeSeconds", "21", value},
		{"smallest message size", "", "MaximumMessageSize", "1024", ""},
		{"below the smallest message size", "", "MaximumMessageSize", "1023", value},
		{"largest message size", "", "MaximumMessageSize", "1048576", ""},
		{"past the largest message size", "", "MaximumMessageSize", "1048577", value},
		{"shortest retention", "", "MessageRetentionPeriod", "60", ""},
		{"below the shortest retention", "", "MessageRetentionPeriod", "59", value},
		{"longest retention", "", "MessageRetentionPeriod", "1209600", ""},
		{"past the longest retention", "", "MessageRetentionPeriod", "1209601", value},
		{"not a number", "", "DelaySeconds", "1.5", value},
		{"redrive count as number", "", "RedrivePolicy", policy("1000"), ""},
		{"redrive count as string", "", "RedrivePolicy", policy(`"1"`), ""},
		{"redrive count 0", "", "RedrivePolicy", policy("0"), parameter},
		{"redrive count 1001", "", "RedrivePolicy", policy("1001"), parameter},
		{"redrive to an unknown queue", "", "RedrivePolicy", strings.Replace(policy("1"), ":dlq", ":none", 1), parameter},
		{"redrive without a target", "", "RedrivePolicy", `{"maxReceiveCount":1}`, parameter},
		{"redrive that is not JSON", "", "RedrivePolicy", `{`, parameter},
		{"attribute that is not implemented", "", "KmsMasterKeyId", "k", unsupported},
		{"unknown attribute", "", "Color", "red", "InvalidAttributeName"},
	} {
		in := &client.CreateQueueInput{QueueName: aws.String(tc.name), Attributes: map[string]string{}}
		if tc.name == "" {
			in.QueueName = aws.String(fmt.Sprint("case", i))
		}
		if tc.attribute != "" {
			in.Attributes[tc.attribute] = tc.value
		}
		_, err := e.c.CreateQueue(t.Context(), in)
		t.Run(tc.rule, func(t *testing.T) {
			if tc.want != "" {
				wantCode(t, err, tc.want)
			} else if err != nil {
				t.Error(err)
			}
		})
	}
}

func TestARefusedCreateLeavesNoQueue(t *testing.T) {
	t.Parallel()
	e := setup(t)
	if _, err := e.c.CreateQueue(t.Context(), &client.CreateQueueInput{QueueName: aws.String("q"),
		Attributes: map[string]string{"DelaySeconds": "5", "VisibilityTimeout": "-1"}}); err == nil {
		t.Fatal("accepted")
	}
	_, err := e.c.GetQueueUrl(t.Context(), &client.GetQueueUrlInput{QueueName: aws.String("q")})
	wantCode(t, err, "AWS.SimpleQueueService.NonExistentQueue")
}

func TestListQueuesByPrefixAndPage(t *testing.T) {
	t.Parallel()
	e := setup(t)
	for _, n := range []string{"b2", "a1", "b1", "b3"} {
		e.queue(n)
	}
	var got []string
	in := &client.ListQueuesInput{QueueNamePrefix: aws.String("b"), MaxResults: aws.Int32(2)}
	for {
		o, err := e.c.ListQueues(t.Context(), in)
		if err != nil {
			t.Fatal(err)
		}
		for _, u := range o.QueueUrls {
			got = append(got, strings.TrimPrefix(u, e.url+"/000000000000/"))
		}
		got = append(got, "|")
		if in.NextToken = o.NextToken; in.NextToken == nil {
			break
		}
	}
	if want := "b1 b2 | b3 |"; strings.Join(got, " ") != want {
		t.Errorf("pages %q, want %q", got, want)
	}
}

func TestSetQueueAttributes(t *testing.T) {
	t.Parallel()
	e := setup(t)
	q := e.queue("q")
	dlq := e.attribute(e.queue("dlq"), "QueueArn")
	e.clock.Advance(time.Minute)
	set := func(m map[string]string) error {
		_, err := e.c.SetQueueAttributes(t.Context(), &client.SetQueueAttributesInput{QueueUrl: q, Attributes: m})
		return err
	}
	if err := set(map[string]string{"VisibilityTimeout": "9", "RedrivePolicy": `{"deadLetterTargetArn":"` + dlq + `","maxReceiveCount":"3"}`}); err != nil {
		t.Fatal(err)
	}
	if got, want := e.attribute(q, "RedrivePolicy"), `{"deadLetterTargetArn":"`+dlq+`","maxReceiveCount":3}`; got != want {
		t.Errorf("policy %s, want %s", got, want)
	}
	if e.attribute(q, "CreatedTimestamp") != "1800000000" || e.attribute(q, "LastModifiedTimestamp") != "1800000060" {
		t.Error("the time of the change is not shown")
	}
	// One bad value refuses all of them.
	wantCode(t, set(map[string]string{"DelaySeconds": "5", "VisibilityTimeout": "x"}), "InvalidAttributeValue")
	if got := e.attribute(q, "DelaySeconds"); got != "0" {
		t.Errorf("delay %s after a refused change, want 0", got)
	}
	if err := set(map[string]string{"RedrivePolicy": ""}); err != nil {
		t.Fatal(err)
	}
	if got := e.attribute(q, "RedrivePolicy"); got != "" {
		t.Errorf("policy %s after its removal", got)
	}
	own := `{"deadLetterTargetArn":"arn:aws:sqs:us-east-1:000000000000:q","maxReceiveCount":3}`
	wantCode(t, set(map[string]string{"RedrivePolicy": own}), "InvalidParameterValue")
}

func TestAnUnknownAttributeCannotBeRead(t *testing.T) {
	t.Parallel()
	e := setup(t)
	_, err := e.c.GetQueueAttributes(t.Context(), &client.GetQueueAttributesInput{QueueUrl: e.queue("q"),
		AttributeNames: []types.QueueAttributeName{"Color"}})
	wantCode(t, err, "InvalidAttributeName")
}

func TestPurgeAndDelete(t *testing.T) {
	t.Parallel()
	e := setup(t)
	q := e.queue("q")
	e.send(q, "visible", "in flight")
	e.receive(q, func(in *client.ReceiveMessageInput) { in.MaxNumberOfMessages = 1 })
	if _, err := e.c.PurgeQueue(t.Context(), &client.PurgeQueueInput{QueueUrl: q}); err != nil {
		t.Fatal(err)
	}
	e.clock.Advance(time.Hour)
	e.wantBodies(q)
	e.send(q, "goes with the queue")
	if _, err := e.c.DeleteQueue(t.Context(), &client.DeleteQueueInput{QueueUrl: q}); err != nil {
		t.Fatal(err)
	}
	_, err := e.c.ReceiveMessage(t.Context(), &client.ReceiveMessageInput{QueueUrl: q})
	wantCode(t, err, "AWS.SimpleQueueService.NonExistentQueue")
	e.queue("q")
	e.wantBodies(q)
}

// post sends a request that the SDK would not.
func (e *env) post(path, target, body string) (status int, answer string) {
	e.t.Helper()
	r, err := http.NewRequestWithContext(e.t.Context(), "POST", e.url+path, strings.NewReader(body))
	if err != nil {
		e.t.Fatal(err)
	}
	r.Header.Set("X-Amz-Target", target)
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		e.t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		e.t.Fatal(err)
	}
	return resp.StatusCode, string(b)
}

func TestWhatIsNotImplementedIsRefusedByName(t *testing.T) {
	t.Parallel()
	e := setup(t)
	e.queue("q")
	for _, tc := range []struct{ rule, target, body, code, names string }{
		{"operation", "AmazonSQS.StartMessageMoveTask", `{}`, "UnknownOperationException", "StartMessageMoveTask"},
		{"service", "AmazonSNS.Publish", `{}`, "UnknownOperationException", "AmazonSNS.Publish"},
		{"member", "AmazonSQS.ListQueues", `{"Color":1}`, "SerializationException", "Color"},
		{"member of an entry", "AmazonSQS.SendMessageBatch", `{"QueueUrl":"/000000000000/q","Entries":[{"Color":1}]}`, "SerializationException", "Color"},
		{"tags", "AmazonSQS.CreateQueue", `{"QueueName":"t","tags":{"a":"b"}}`, "UnsupportedOperation", "tags"},
		{"malformed JSON", "AmazonSQS.ListQueues", `{`, "SerializationException", ""},
		{"two values", "AmazonSQS.ListQueues", `{}{}`, "SerializationException", ""},
		{"not UTF-8", "AmazonSQS.ListQueues", "{\"QueueNamePrefix\":\"\xff\"}", "SerializationException", ""},
	} {
		status, answer := e.post("/", tc.target, tc.body)
		if status != 400 || !strings.Contains(answer, `"__type":"com.amazonaws.sqs#`+tc.code+`"`) || !strings.Contains(answer, tc.names) {
			t.Errorf("%s: %d %s, want 400 %s naming %q", tc.rule, status, answer, tc.code, tc.names)
		}
	}
}

func TestRequestsMayGoToTheQueueAddress(t *testing.T) {
	t.Parallel()
	e := setup(t)
	q := e.queue("q")
	for _, body := range []string{`{"QueueUrl":"` + *q + `","MessageBody":"one"}`, `{"MessageBody":"two"}`} {
		if status, answer := e.post("/000000000000/q", "AmazonSQS.SendMessage", body); status != 200 {
			t.Errorf("%s: %d %s", body, status, answer)
		}
	}
	e.wantBodies(q, "one", "two")
	if status, answer := e.post("/", "AmazonSQS.SendMessage", `{"MessageBody":"x"}`); status != 400 || !strings.Contains(answer, "QueueUrl") {
		t.Errorf("without a queue: %d %s", status, answer)
	}
}
