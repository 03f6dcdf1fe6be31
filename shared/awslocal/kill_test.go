package awslocal_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	ddbtypes "github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"bailing/shared/awslocal"
)

const childDir = "BAILING_AWSLOCAL_CHILD_DIR"

func TestMain(m *testing.M) {
	if dir := os.Getenv(childDir); dir != "" {
		runChild(dir)
	}
	os.Exit(m.Run())
}

// runChild serves dir until the process is killed.
func runChild(dir string) {
	s, err := awslocal.Open(awslocal.Options{Dir: dir})
	if err == nil {
		var endpoint string
		if endpoint, err = s.Start("127.0.0.1:0"); err == nil {
			fmt.Println(endpoint)
			s.StepFunctions().SetInvoke(printToken)
			io.Copy(io.Discard, os.Stdin) // ends with the parent, should it die first
			os.Exit(0)
		}
	}
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}

// child is a server in a process of its own.
type child struct {
	cmd  *exec.Cmd
	read <-chan struct{} // closed when all that it printed has been read
	clients
}

func startChild(t *testing.T, dir string, tokens *tokens) child {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), childDir+"="+dir)
	cmd.Stderr = os.Stderr
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		stdin.Close()
		cmd.Process.Kill()
		cmd.Wait()
	})
	lines := bufio.NewReader(stdout)
	line, err := lines.ReadString('\n')
	if err != nil {
		t.Fatalf("the child did not start: %v", err)
	}
	return child{cmd, tokens.read(lines), newClients(config(strings.TrimSpace(line)))}
}

const (
	killTable, killBucket = "table", "bucket"
	killWriters           = 3 // of each service
	killRounds            = 6
)

// writer keeps what one sequence of writes must have left behind: the state of the last acknowledged one, or of the one
// that was under way when the server died.
type writer interface {
	// setup prepares the writer once, on the first server.
	setup(t *testing.T, c clients)
	// write makes one change and records it as acknowledged when it returns nil.
	write(ctx context.Context, c clients) error
	// verify compares, and takes over what it finds as the state to go on from.
	verify(t *testing.T, c clients)
}

func TestKillLosesNothingAcknowledgedAndLeavesNothingHalf(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("starts processes")
	}
	dir := t.TempDir()
	handed := newTokens()
	random := rand.New(rand.NewPCG(1, 2))
	var writers []writer
	for i := range killWriters {
		name := fmt.Sprint("writer", i)
		writers = append(writers, &pairWriter{name: name}, &queueWriter{name: name}, &objectWriter{name: name}, &waitWriter{name: name, tokens: handed})
	}
	c := startChild(t, dir, handed)
	c.createTable(t, killTable)
	if _, err := c.s3.CreateBucket(t.Context(), &s3.CreateBucketInput{Bucket: aws.String(killBucket)}); err != nil {
		t.Fatal(err)
	}
	for _, w := range writers {
		w.setup(t, c.clients)
	}
	total := 0
	for range killRounds {
		total += writeUntilKilled(t, c, writers, 50+random.IntN(250))
		c = startChild(t, dir, handed)
		for _, w := range writers {
			w.verify(t, c.clients)
		}
	}
	t.Logf("%d acknowledged writes, %d kills", total, killRounds)
}

// writeUntilKilled runs all writers and kills the server while they write, after so many acknowledged writes.
func writeUntilKilled(t *testing.T, c child, writers []writer, after int) int {
	t.Helper()
	var acked atomic.Int64
	kill := make(chan struct{})
	var once sync.Once
	var wg sync.WaitGroup
	for _, w := range writers {
		wg.Go(func() {
			for w.write(context.Background(), c.clients) == nil {
				if acked.Add(1) >= int64(after) {
					once.Do(func() { close(kill) })
				}
			}
		})
	}
	<-kill
	if err := c.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	<-c.read     // Wait throws away what is not read
	c.cmd.Wait() // reports the signal
	wg.Wait()
	return int(acked.Load())
}

// pairWriter writes one number into two items, in one transaction.
type pairWriter struct {
	name         string
	acked, tried int
}

func (w *pairWriter) setup(*testing.T, clients) {}

func (w *pairWriter) write(ctx context.Context, c clients) error {
	w.tried = w.acked + 1
	var items []ddbtypes.TransactWriteItem
	for _, side := range []string{"left", "right"} {
		items = append(items, ddbtypes.TransactWriteItem{Put: &ddbtypes.Put{TableName: aws.String(killTable),
			Item: map[string]ddbtypes.AttributeValue{"pk": text(w.name + side), "n": text(strconv.Itoa(w.tried))}}})
	}
	if _, err := c.ddb.TransactWriteItems(ctx, &dynamodb.TransactWriteItemsInput{TransactItems: items}); err != nil {
		return err
	}
	w.acked = w.tried
	return nil
}

func (w *pairWriter) verify(t *testing.T, c clients) {
	t.Helper()
	var found [2]int
	for i, side := range []string{"left", "right"} {
		o, err := c.ddb.GetItem(t.Context(), &dynamodb.GetItemInput{TableName: aws.String(killTable), ConsistentRead: aws.Bool(true),
			Key: map[string]ddbtypes.AttributeValue{"pk": text(w.name + side)}})
		if err != nil {
			t.Fatal(err)
		}
		if n, ok := o.Item["n"].(*ddbtypes.AttributeValueMemberS); ok {
			found[i], _ = strconv.Atoi(n.Value)
		}
	}
	if found[0] != found[1] || found[0] != w.acked && found[0] != w.tried {
		t.Errorf("%s: items hold %d and %d; %d was acknowledged, %d was being written", w.name, found[0], found[1], w.acked, w.tried)
	}
	w.acked = found[0]
}

// objectWriter replaces one object, the content of which shows whether it is whole.
type objectWriter struct {
	name         string
	acked, tried int
}

func (w *objectWriter) setup(*testing.T, clients) {}

func (w *objectWriter) write(ctx context.Context, c clients) error {
	w.tried = w.acked + 1
	body := strings.Repeat(strconv.Itoa(w.tried)+";", 10_000)
	if _, err := c.s3.PutObject(ctx, &s3.PutObjectInput{Bucket: aws.String(killBucket), Key: &w.name, Body: strings.NewReader(body)}); err != nil {
		return err
	}
	w.acked = w.tried
	return nil
}

func (w *objectWriter) verify(t *testing.T, c clients) {
	t.Helper()
	o, err := c.s3.GetObject(t.Context(), &s3.GetObjectInput{Bucket: aws.String(killBucket), Key: &w.name})
	if err != nil {
		if w.acked > 0 {
			t.Errorf("%s: %v; %d was acknowledged", w.name, err, w.acked)
		}
		return
	}
	defer o.Body.Close()
	body, err := io.ReadAll(o.Body)
	if err != nil {
		t.Fatal(err)
	}
	first, _, _ := strings.Cut(string(body), ";")
	n, err := strconv.Atoi(first)
	if err != nil || string(body) != strings.Repeat(first+";", 10_000) || n != w.acked && n != w.tried {
		t.Errorf("%s: the object begins with %q and has %d bytes; %d was acknowledged, %d was being written", w.name, first, len(body), w.acked, w.tried)
	}
	w.acked = n
}

// queueWriter sends messages to a queue of its own and deletes every third.
type queueWriter struct {
	name    string
	n       int
	there   map[string]bool // acknowledged and not deleted
	unknown map[string]bool // sent or deleted without an answer
}

func (w *queueWriter) url(c clients, ctx context.Context) (*string, error) {
	o, err := c.sqs.GetQueueUrl(ctx, &sqs.GetQueueUrlInput{QueueName: &w.name})
	if err != nil {
		return nil, err
	}
	return o.QueueUrl, nil
}

func (w *queueWriter) setup(t *testing.T, c clients) {
	t.Helper()
	w.there, w.unknown = map[string]bool{}, map[string]bool{}
	if _, err := c.sqs.CreateQueue(t.Context(), &sqs.CreateQueueInput{QueueName: &w.name, Attributes: map[string]string{"VisibilityTimeout": "43200"}}); err != nil {
		t.Fatal(err)
	}
}

func (w *queueWriter) write(ctx context.Context, c clients) error {
	url, err := w.url(c, ctx)
	if err != nil {
		return err
	}
	w.n++
	if w.n%3 == 0 {
		return w.deleteOne(ctx, c, url)
	}
	body := strconv.Itoa(w.n)
	w.unknown[body] = true
	if _, err := c.sqs.SendMessage(ctx, &sqs.SendMessageInput{QueueUrl: url, MessageBody: &body}); err != nil {
		return err
	}
	delete(w.unknown, body)
	w.there[body] = true
	return nil
}

func (w *queueWriter) deleteOne(ctx context.Context, c clients, url *string) error {
	o, err := c.sqs.ReceiveMessage(ctx, &sqs.ReceiveMessageInput{QueueUrl: url})
	if err != nil || len(o.Messages) == 0 {
		return err
	}
	body := *o.Messages[0].Body
	delete(w.there, body)
	w.unknown[body] = true
	if _, err := c.sqs.DeleteMessage(ctx, &sqs.DeleteMessageInput{QueueUrl: url, ReceiptHandle: o.Messages[0].ReceiptHandle}); err != nil {
		return err
	}
	delete(w.unknown, body)
	return nil
}

// verify receives all there is; it is in flight then, and the next restart makes it visible again.
func (w *queueWriter) verify(t *testing.T, c clients) {
	t.Helper()
	url, err := w.url(c, t.Context())
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]bool{}
	for {
		o, err := c.sqs.ReceiveMessage(t.Context(), &sqs.ReceiveMessageInput{QueueUrl: url, MaxNumberOfMessages: 10})
		if err != nil {
			t.Fatal(err)
		}
		if len(o.Messages) == 0 {
			break
		}
		for _, m := range o.Messages {
			if found[*m.Body] {
				t.Errorf("%s: message %s is there twice", w.name, *m.Body)
			}
			found[*m.Body] = true
		}
	}
	for body := range w.there {
		if !found[body] {
			t.Errorf("%s: message %s was acknowledged and is lost", w.name, body)
		}
	}
	for body := range found {
		if !w.there[body] && !w.unknown[body] {
			t.Errorf("%s: message %s was deleted and is back", w.name, body)
		}
	}
	w.there, w.unknown = maps.Clone(found), map[string]bool{}
}
