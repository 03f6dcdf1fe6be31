package awslocal_test

import (
	"errors"
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	ddbtypes "github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/sfn"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"bailing/shared/awslocal"
	"bailing/shared/awslocal/awslocaltest"
	"bailing/shared/awslocal/fault"
	"bailing/shared/awslocal/wal"
	"bailing/shared/clock"
)

// clients are the ordinary clients of one caller.
type clients struct {
	ddb *dynamodb.Client
	sqs *sqs.Client
	s3  *s3.Client
	sfn *sfn.Client
}

func newClients(c aws.Config) clients {
	return clients{dynamodb.NewFromConfig(c), sqs.NewFromConfig(c), s3.NewFromConfig(c, func(o *s3.Options) { o.UsePathStyle = true }), sfn.NewFromConfig(c)}
}

func (c clients) createTable(t testing.TB, name string) {
	t.Helper()
	if _, err := c.ddb.CreateTable(t.Context(), &dynamodb.CreateTableInput{TableName: &name, BillingMode: ddbtypes.BillingModePayPerRequest,
		AttributeDefinitions: []ddbtypes.AttributeDefinition{{AttributeName: aws.String("pk"), AttributeType: ddbtypes.ScalarAttributeTypeS}},
		KeySchema:            []ddbtypes.KeySchemaElement{{AttributeName: aws.String("pk"), KeyType: ddbtypes.KeyTypeHash}},
	}); err != nil {
		t.Fatal(err)
	}
}

// config is for servers that a test starts itself.
func config(endpoint string) aws.Config {
	return aws.Config{Region: awslocaltest.Region, BaseEndpoint: &endpoint, Credentials: credentials.NewStaticCredentialsProvider("AKID", "secret", ""),
		Retryer: func() aws.Retryer { return aws.NopRetryer{} }}
}

func text(s string) ddbtypes.AttributeValue { return &ddbtypes.AttributeValueMemberS{Value: s} }

func TestOnePortServesAll(t *testing.T) {
	t.Parallel()
	for name, opts := range map[string][]awslocaltest.Option{"memory": nil, "directory": {awslocaltest.Dir(t.TempDir())}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			env := awslocaltest.Start(t, append(opts, awslocaltest.NoRetries())...)
			c := newClients(env.Config("AKID"))
			c.createTable(t, "table")
			if _, err := c.ddb.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: aws.String("table"), Item: map[string]ddbtypes.AttributeValue{"pk": text("a")}}); err != nil {
				t.Error(err)
			}
			if _, err := c.sqs.CreateQueue(t.Context(), &sqs.CreateQueueInput{QueueName: aws.String("queue")}); err != nil {
				t.Error(err)
			}
			if _, err := c.s3.CreateBucket(t.Context(), &s3.CreateBucketInput{Bucket: aws.String("bucket")}); err != nil {
				t.Error(err)
			}
			if _, err := c.sfn.CreateStateMachine(t.Context(), &sfn.CreateStateMachineInput{Name: aws.String(killMachine), Definition: aws.String(killDefinition),
				RoleArn: aws.String("arn:aws:iam::000000000000:role/local")}); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestAServiceThatIsNotHereIsRefusedByName(t *testing.T) {
	t.Parallel()
	env := awslocaltest.Start(t)
	r, err := http.NewRequestWithContext(t.Context(), "POST", env.Endpoint, strings.NewReader("{}"))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("X-Amz-Target", "TrentService.Encrypt")
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != 400 || !strings.Contains(string(b), "UnknownOperationException") || !strings.Contains(string(b), "TrentService.Encrypt") {
		t.Errorf("%d %s %v", resp.StatusCode, b, err)
	}
}

func TestFaultsAreNumberedOverAllServicesByCaller(t *testing.T) {
	t.Parallel()
	env := awslocaltest.Start(t, awslocaltest.NoRetries())
	var mu sync.Mutex
	var got []fault.Op
	env.Server.Faults().Set(func(op fault.Op) fault.Fault {
		mu.Lock()
		defer mu.Unlock()
		got = append(got, op)
		return fault.Fault{}
	})
	a, b := newClients(env.Config("A")), newClients(env.Config("B"))
	a.createTable(t, "table")
	if _, err := b.sqs.CreateQueue(t.Context(), &sqs.CreateQueueInput{QueueName: aws.String("queue")}); err != nil {
		t.Fatal(err)
	}
	if _, err := a.s3.CreateBucket(t.Context(), &s3.CreateBucketInput{Bucket: aws.String("bucket")}); err != nil {
		t.Fatal(err)
	}
	want := []fault.Op{
		{Service: "dynamodb", Action: "CreateTable", Resource: "table", AccessKey: "A", Seq: 1},
		{Service: "sqs", Action: "CreateQueue", Resource: "queue", AccessKey: "B", Seq: 1},
		{Service: "s3", Action: "CreateBucket", Resource: "bucket", AccessKey: "A", Seq: 2},
	}
	mu.Lock()
	defer mu.Unlock()
	if len(got) != len(want) {
		t.Fatalf("operations %+v", got)
	}
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("operation %d: %+v, want %+v", i, got[i], want[i])
		}
	}
}

func TestADirectoryBelongsToOneServer(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s, err := awslocal.Open(awslocal.Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	_, err = awslocal.Open(awslocal.Options{Dir: dir})
	if !errors.Is(err, wal.ErrLocked) || !strings.Contains(err.Error(), filepath.Join(dir, "dynamodb", "lock")) {
		t.Errorf("second server: %v, want ErrLocked that names the file", err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if s, err = awslocal.Open(awslocal.Options{Dir: dir}); err != nil {
		t.Fatalf("after Close: %v", err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

// signalling is a manual clock that tells when a wait begins.
type signalling struct {
	*clock.Manual
	waits chan time.Duration
}

func (s signalling) After(d time.Duration) <-chan time.Time {
	ch := s.Manual.After(d)
	s.waits <- d
	return ch
}

func TestExpiredItemsAreSweptEverySecond(t *testing.T) {
	t.Parallel()
	clk := signalling{clock.NewManual(time.Unix(1_800_000_000, 0)), make(chan time.Duration, 100)}
	server, err := awslocal.Open(awslocal.Options{Clock: clk})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { server.Close() })
	endpoint, err := server.Start("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	c := newClients(config(endpoint))
	c.createTable(t, "table")
	if _, err := c.ddb.UpdateTimeToLive(t.Context(), &dynamodb.UpdateTimeToLiveInput{TableName: aws.String("table"),
		TimeToLiveSpecification: &ddbtypes.TimeToLiveSpecification{AttributeName: aws.String("ttl"), Enabled: aws.Bool(true)}}); err != nil {
		t.Fatal(err)
	}
	key := map[string]ddbtypes.AttributeValue{"pk": text("a")}
	if _, err := c.ddb.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: aws.String("table"),
		Item: map[string]ddbtypes.AttributeValue{"pk": text("a"), "ttl": &ddbtypes.AttributeValueMemberN{Value: "1800000001"}}}); err != nil {
		t.Fatal(err)
	}
	exists := func() bool {
		o, err := c.ddb.GetItem(t.Context(), &dynamodb.GetItemInput{TableName: aws.String("table"), Key: key, ConsistentRead: aws.Bool(true)})
		if err != nil {
			t.Fatal(err)
		}
		return len(o.Item) > 0
	}
	<-clk.waits // the sweeper waits for its first turn
	if !exists() {
		t.Error("gone before its time")
	}
	clk.Advance(2 * time.Second)
	<-clk.waits // it waits for the next one
	if exists() {
		t.Error("still there after a sweep")
	}
}

func TestCloseEndsLongPolls(t *testing.T) {
	t.Parallel()
	clk := signalling{clock.NewManual(time.Unix(1_800_000_000, 0)), make(chan time.Duration, 100)}
	server, err := awslocal.Open(awslocal.Options{Clock: clk})
	if err != nil {
		t.Fatal(err)
	}
	endpoint, err := server.Start("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	c := newClients(config(endpoint))
	q, err := c.sqs.CreateQueue(t.Context(), &sqs.CreateQueueInput{QueueName: aws.String("queue")})
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error)
	go func() {
		_, err := c.sqs.ReceiveMessage(t.Context(), &sqs.ReceiveMessageInput{QueueUrl: q.QueueUrl, WaitTimeSeconds: 20})
		done <- err
	}()
	for d := range clk.waits {
		if d == 20*time.Second {
			break
		}
	}
	if err := server.Close(); err != nil {
		t.Error(err)
	}
	if err := <-done; err != nil {
		t.Errorf("the poll ended with %v, want an empty answer", err)
	}
	if _, err := server.Start("127.0.0.1:0"); !errors.Is(err, http.ErrServerClosed) {
		t.Errorf("start after close: %v", err)
	}
}
