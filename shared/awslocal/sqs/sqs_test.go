package sqs_test

import (
	"context"
	"errors"
	"fmt"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	client "github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
	"github.com/aws/smithy-go"

	"bailing/shared/awslocal/fault"
	"bailing/shared/awslocal/sqs"
	"bailing/shared/clock"
)

// watched is a manual clock that tells when somebody begins to wait on it.
type watched struct {
	*clock.Manual
	waits chan time.Duration
}

func (w watched) After(d time.Duration) <-chan time.Time {
	ch := w.Manual.After(d)
	w.waits <- d
	return ch
}

// env is a service behind a listener, with the ordinary client.
type env struct {
	t       *testing.T
	c       *client.Client
	clock   watched
	faults  *fault.Injector
	service *sqs.Service
	url     string
}

func setup(t *testing.T) *env { return setupLog(t, nil) }

func setupLog(t *testing.T, log sqs.Journal) *env {
	t.Helper()
	e := &env{t: t, clock: watched{clock.NewManual(time.Unix(1_800_000_000, 0)), make(chan time.Duration, 100)}, faults: &fault.Injector{}}
	e.service = sqs.New(sqs.Options{Clock: e.clock, Faults: e.faults, Log: log})
	srv := httptest.NewServer(e.service)
	t.Cleanup(func() {
		e.service.Close()
		srv.Close()
	})
	e.url = srv.URL
	e.c = client.NewFromConfig(aws.Config{
		Region:       "us-east-1",
		Credentials:  credentials.NewStaticCredentialsProvider("AKIDTEST", "secret", ""),
		BaseEndpoint: aws.String(srv.URL),
		Retryer:      func() aws.Retryer { return aws.NopRetryer{} },
	})
	return e
}

func (e *env) queue(name string, attributes ...string) *string {
	e.t.Helper()
	m := map[string]string{}
	for i := 0; i < len(attributes); i += 2 {
		m[attributes[i]] = attributes[i+1]
	}
	o, err := e.c.CreateQueue(e.t.Context(), &client.CreateQueueInput{QueueName: &name, Attributes: m})
	if err != nil {
		e.t.Fatalf("create %s: %v", name, err)
	}
	return o.QueueUrl
}

func (e *env) attribute(q *string, name string) string {
	e.t.Helper()
	o, err := e.c.GetQueueAttributes(e.t.Context(), &client.GetQueueAttributesInput{QueueUrl: q,
		AttributeNames: []types.QueueAttributeName{types.QueueAttributeNameAll}})
	if err != nil {
		e.t.Fatal(err)
	}
	return o.Attributes[name]
}

func (e *env) send(q *string, bodies ...string) {
	e.t.Helper()
	for _, b := range bodies {
		if _, err := e.c.SendMessage(e.t.Context(), &client.SendMessageInput{QueueUrl: q, MessageBody: &b}); err != nil {
			e.t.Fatal(err)
		}
	}
}

func (e *env) receive(q *string, change ...func(*client.ReceiveMessageInput)) []types.Message {
	e.t.Helper()
	in := &client.ReceiveMessageInput{QueueUrl: q, MaxNumberOfMessages: 10, MessageAttributeNames: []string{"All"},
		MessageSystemAttributeNames: []types.MessageSystemAttributeName{types.MessageSystemAttributeNameAll}}
	for _, c := range change {
		c(in)
	}
	o, err := e.c.ReceiveMessage(e.t.Context(), in)
	if err != nil {
		e.t.Fatal(err)
	}
	return o.Messages
}

func (e *env) delete(q *string, m types.Message) {
	e.t.Helper()
	if _, err := e.c.DeleteMessage(e.t.Context(), &client.DeleteMessageInput{QueueUrl: q, ReceiptHandle: m.ReceiptHandle}); err != nil {
		e.t.Fatal(err)
	}
}

func (e *env) wantBodies(q *string, want ...string) []types.Message {
	e.t.Helper()
	ms := e.receive(q)
	var got []string
	for _, m := range ms {
		got = append(got, *m.Body)
	}
	if !slices.Equal(got, want) {
		e.t.Fatalf("received %q, want %q", got, want)
	}
	return ms
}

func wantCode(t *testing.T, err error, code string) {
	t.Helper()
	var api smithy.APIError
	if !errors.As(err, &api) {
		t.Errorf("error %v, want code %s", err, code)
		return
	}
	if api.ErrorCode() != code {
		t.Errorf("code %s (%s), want %s", api.ErrorCode(), api.ErrorMessage(), code)
	}
}

func TestASentMessageIsReceivedWithItsAttributesAndDeleted(t *testing.T) {
	t.Parallel()
	e := setup(t)
	q := e.queue("q")
	sent, err := e.c.SendMessage(t.Context(), &client.SendMessageInput{QueueUrl: q, MessageBody: aws.String("hi"),
		MessageAttributes: map[string]types.MessageAttributeValue{
			"text":   {DataType: aws.String("String"), StringValue: aws.String("v")},
			"number": {DataType: aws.String("Number.int"), StringValue: aws.String("5")},
			"bytes":  {DataType: aws.String("Binary"), BinaryValue: []byte{1, 2, 255}},
		}})
	if err != nil {
		t.Fatal(err)
	}
	e.clock.Advance(1500 * time.Millisecond)
	ms := e.wantBodies(q, "hi")
	m := ms[0]
	if *m.MessageId != *sent.MessageId || *m.MD5OfMessageAttributes != *sent.MD5OfMessageAttributes {
		t.Errorf("id %s digest %s, sent as %s %s", *m.MessageId, *m.MD5OfMessageAttributes, *sent.MessageId, *sent.MD5OfMessageAttributes)
	}
	if *m.MessageAttributes["text"].StringValue != "v" || *m.MessageAttributes["number"].DataType != "Number.int" ||
		string(m.MessageAttributes["bytes"].BinaryValue) != "\x01\x02\xff" {
		t.Errorf("attributes %v", m.MessageAttributes)
	}
	want := map[string]string{"ApproximateReceiveCount": "1", "SentTimestamp": "1800000000000",
		"ApproximateFirstReceiveTimestamp": "1800000001500", "SenderId": "AKIDTEST"}
	for k, v := range want {
		if m.Attributes[k] != v {
			t.Errorf("%s = %q, want %q", k, m.Attributes[k], v)
		}
	}
	e.delete(q, m)
	e.clock.Advance(time.Hour)
	e.wantBodies(q)
}

// The digests were computed independently over the bytes that the developer guide of SQS describes.
func TestDigests(t *testing.T) {
	t.Parallel()
	e := setup(t)
	q := e.queue("q")
	o, err := e.c.SendMessage(t.Context(), &client.SendMessageInput{QueueUrl: q, MessageBody: aws.String("hello"),
		MessageAttributes: map[string]types.MessageAttributeValue{
			"b": {DataType: aws.String("Binary"), BinaryValue: []byte("xy")},
			"a": {DataType: aws.String("String"), StringValue: aws.String("1")},
		}})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := *o.MD5OfMessageBody, "5d41402abc4b2a76b9719d911017c592"; got != want {
		t.Errorf("body %s, want %s", got, want)
	}
	if got, want := *o.MD5OfMessageAttributes, "ca816872060526a67a54f871a3e5abfb"; got != want {
		t.Errorf("attributes %s, want %s", got, want)
	}
}

func TestOnlyTheAttributesAskedForComeBack(t *testing.T) {
	t.Parallel()
	e := setup(t)
	q := e.queue("q", "VisibilityTimeout", "0")
	str := func(s string) types.MessageAttributeValue {
		return types.MessageAttributeValue{DataType: aws.String("String"), StringValue: &s}
	}
	if _, err := e.c.SendMessage(t.Context(), &client.SendMessageInput{QueueUrl: q, MessageBody: aws.String("x"),
		MessageAttributes: map[string]types.MessageAttributeValue{"a": str("1"), "p.one": str("2"), "p.two": str("3")}}); err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct{ ask, want []string }{
		{nil, nil},
		{[]string{"a"}, []string{"a"}},
		{[]string{"p.*"}, []string{"p.one", "p.two"}},
		{[]string{"All"}, []string{"a", "p.one", "p.two"}},
		{[]string{".*"}, []string{"a", "p.one", "p.two"}},
	} {
		ms := e.receive(q, func(in *client.ReceiveMessageInput) {
			in.MessageAttributeNames, in.MessageSystemAttributeNames = tc.ask, nil
		})
		var got []string
		for k := range ms[0].MessageAttributes {
			got = append(got, k)
		}
		slices.Sort(got)
		if !slices.Equal(got, tc.want) || len(ms[0].Attributes) != 0 {
			t.Errorf("asked for %q: %q and %v, want %q and no system attributes", tc.ask, got, ms[0].Attributes, tc.want)
		}
	}
}

func TestMessageRules(t *testing.T) {
	t.Parallel()
	const mib = 1 << 20
	e := setup(t)
	q := e.queue("q")
	small := e.queue("small", "MaximumMessageSize", "1024")
	str := func(kind, v string) types.MessageAttributeValue {
		return types.MessageAttributeValue{DataType: &kind, StringValue: &v}
	}
	attrs := func(n int) map[string]types.MessageAttributeValue {
		m := map[string]types.MessageAttributeValue{}
		for i := range n {
			m[fmt.Sprint("a", i)] = str("String", "v")
		}
		return m
	}
	one := func(name string, v types.MessageAttributeValue) map[string]types.MessageAttributeValue {
		return map[string]types.MessageAttributeValue{name: v}
	}
	const bad = "InvalidParameterValue"
	for _, tc := range []struct {
		name string
		in   client.SendMessageInput
		want string // error code; "" for success
	}{
		{"size limit", client.SendMessageInput{MessageBody: aws.String(strings.Repeat("a", mib))}, ""},
		{"one past the size limit", client.SendMessageInput{MessageBody: aws.String(strings.Repeat("a", mib+1))}, bad},
		{"every byte escaped at the size limit", client.SendMessageInput{MessageBody: aws.String(strings.Repeat("\"", mib))}, ""},
		{"attributes count: at the limit", client.SendMessageInput{MessageBody: aws.String(strings.Repeat("a", mib-10)), MessageAttributes: one("k", str("String", "123"))}, ""},
		{"attributes count: one past", client.SendMessageInput{MessageBody: aws.String(strings.Repeat("a", mib-10)), MessageAttributes: one("k", str("String", "1234"))}, bad},
		{"size limit of the queue", client.SendMessageInput{QueueUrl: small, MessageBody: aws.String(strings.Repeat("a", 1024))}, ""},
		{"one past the size limit of the queue", client.SendMessageInput{QueueUrl: small, MessageBody: aws.String(strings.Repeat("a", 1025))}, bad},
		{"empty body", client.SendMessageInput{MessageBody: aws.String("")}, "MissingParameter"},
		{"allowed characters", client.SendMessageInput{MessageBody: aws.String("\t\n\r \ud7ff\ue000\ufffd\U00010000\U0010ffff")}, ""},
		{"character 0", client.SendMessageInput{MessageBody: aws.String("a\x00")}, "InvalidMessageContents"},
		{"character 1F", client.SendMessageInput{MessageBody: aws.String("\x1f")}, "InvalidMessageContents"},
		{"character FFFE", client.SendMessageInput{MessageBody: aws.String("\ufffe")}, "InvalidMessageContents"},
		{"delay limit", client.SendMessageInput{MessageBody: aws.String("x"), DelaySeconds: 900}, ""},
		{"one past the delay limit", client.SendMessageInput{MessageBody: aws.String("x"), DelaySeconds: 901}, bad},
		{"negative delay", client.SendMessageInput{MessageBody: aws.String("x"), DelaySeconds: -1}, bad},
		{"10 attributes", client.SendMessageInput{MessageBody: aws.String("x"), MessageAttributes: attrs(10)}, ""},
		{"11 attributes", client.SendMessageInput{MessageBody: aws.String("x"), MessageAttributes: attrs(11)}, bad},
		{"reserved attribute name", client.SendMessageInput{MessageBody: aws.String("x"), MessageAttributes: one("aws.x", str("String", "v"))}, bad},
		{"attribute name of 256", client.SendMessageInput{MessageBody: aws.String("x"), MessageAttributes: one(strings.Repeat("n", 256), str("String", "v"))}, ""},
		{"attribute name of 257", client.SendMessageInput{MessageBody: aws.String("x"), MessageAttributes: one(strings.Repeat("n", 257), str("String", "v"))}, bad},
		{"attribute name with a space", client.SendMessageInput{MessageBody: aws.String("x"), MessageAttributes: one("a b", str("String", "v"))}, bad},
		{"attribute name that ends in a dot", client.SendMessageInput{MessageBody: aws.String("x"), MessageAttributes: one("a.", str("String", "v"))}, bad},
		{"unknown data type", client.SendMessageInput{MessageBody: aws.String("x"), MessageAttributes: one("a", str("Text", "v"))}, bad},
		{"empty attribute value", client.SendMessageInput{MessageBody: aws.String("x"), MessageAttributes: one("a", str("String", ""))}, bad},
		{"number", client.SendMessageInput{MessageBody: aws.String("x"), MessageAttributes: one("a", str("Number", "-1.5e3"))}, ""},
		{"38 digits", client.SendMessageInput{MessageBody: aws.String("x"), MessageAttributes: one("a", str("Number", strings.Repeat("9", 38)))}, ""},
		{"39 digits", client.SendMessageInput{MessageBody: aws.String("x"), MessageAttributes: one("a", str("Number", strings.Repeat("9", 39)))}, bad},
		{"10^126", client.SendMessageInput{MessageBody: aws.String("x"), MessageAttributes: one("a", str("Number", "1e126"))}, ""},
		{"beyond 10^126", client.SendMessageInput{MessageBody: aws.String("x"), MessageAttributes: one("a", str("Number", "1e127"))}, bad},
		{"not a number", client.SendMessageInput{MessageBody: aws.String("x"), MessageAttributes: one("a", str("Number", "0x10"))}, bad},
		{"message group", client.SendMessageInput{MessageBody: aws.String("x"), MessageGroupId: aws.String("g")}, "AWS.SimpleQueueService.UnsupportedOperation"},
		{"deduplication id", client.SendMessageInput{MessageBody: aws.String("x"), MessageDeduplicationId: aws.String("d")}, "AWS.SimpleQueueService.UnsupportedOperation"},
		{"unknown queue", client.SendMessageInput{MessageBody: aws.String("x"), QueueUrl: aws.String(e.url + "/000000000000/none")}, "AWS.SimpleQueueService.NonExistentQueue"},
		{"queue of another account", client.SendMessageInput{MessageBody: aws.String("x"), QueueUrl: aws.String(e.url + "/111111111111/q")}, "AWS.SimpleQueueService.NonExistentQueue"},
		{"not a queue URL", client.SendMessageInput{MessageBody: aws.String("x"), QueueUrl: aws.String("q")}, "InvalidAddress"},
	} {
		if tc.in.QueueUrl == nil {
			tc.in.QueueUrl = q
		}
		_, err := e.c.SendMessage(context.Background(), &tc.in)
		switch {
		case tc.want == "" && err != nil:
			t.Errorf("%s: %v", tc.name, err)
		case tc.want != "":
			t.Run(tc.name, func(t *testing.T) { wantCode(t, err, tc.want) })
		}
	}
}
