package sim

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"time"

	awsfault "bailing/shared/awslocal/fault"
)

// fault is what goes wrong with a step.
type fault string

const (
	none        fault = ""
	crashBefore fault = "crash before"
	crashAfter  fault = "crash after"
	throttle    fault = "throttled"
	conflict    fault = "conflict"
	errorBefore fault = "error before"
	errorAfter  fault = "error after it took effect"
	lost        fault = "lost on its way"
	answerLost  fault = "answer lost"
	refused     fault = "connection refused"
	late        fault = "late"
)

// request is what the schedule knows of a request to AWS.
type request struct {
	service string // dynamodb, sqs or s3
	action  string
	key     string
}

type attributes map[string]json.RawMessage

// action is the part of a DynamoDB request that names an item.
type action struct {
	TableName string
	Key, Item attributes
}

func (a action) String() string {
	k := a.Key
	if k == nil {
		k = a.Item
	}
	return strings.TrimPrefix(a.TableName, prefix) + " " + text(k["pk"]) + "/" + text(k["sk"])
}

// text is the content of an attribute of type S.
func text(a json.RawMessage) string {
	var v struct{ S string }
	_ = json.Unmarshal(a, &v)
	return v.S
}

// describe names a request by what it does to what, without anything that is drawn anew for each request.
func (w *world) describe(r *http.Request, body []byte) request {
	target := r.Header.Get("X-Amz-Target")
	switch {
	case target == "":
		return request{"s3", r.Method, "s3 " + r.Method + " " + r.URL.Path}
	case strings.HasPrefix(target, "AmazonSQS."):
		act := strings.TrimPrefix(target, "AmazonSQS.")
		var v struct {
			QueueUrl, MessageBody string
			DelaySeconds          int
		}
		_ = json.Unmarshal(body, &v)
		queue := v.QueueUrl[strings.LastIndexByte(v.QueueUrl, '/')+1:]
		return request{"sqs", act, fmt.Sprintf("sqs %s %s %s in %d s", act, queue, v.MessageBody, v.DelaySeconds)}
	}
	if strings.HasPrefix(target, "AWSStepFunctions.") {
		act := strings.TrimPrefix(target, "AWSStepFunctions.")
		var v struct{ Name, TaskToken string }
		_ = json.Unmarshal(body, &v)
		return request{"sfn", act, fmt.Sprintf("sfn %s %s%.12x", act, v.Name, sha256.Sum256([]byte(v.TaskToken)))}
	}
	act := strings.TrimPrefix(target, "DynamoDB_20120810.")
	var v struct {
		action
		IndexName                 string
		ExpressionAttributeValues attributes
		TransactItems             []map[string]action
		RequestItems              map[string]struct{ Keys []attributes }
	}
	_ = json.Unmarshal(body, &v)
	var parts []string
	switch act {
	case "Query":
		parts = append(parts, strings.TrimPrefix(v.TableName, prefix), v.IndexName)
		for _, name := range slices.Sorted(maps.Keys(v.ExpressionAttributeValues)) {
			if s := text(v.ExpressionAttributeValues[name]); s != "" && name != ":now" {
				parts = append(parts, s)
			}
		}
	case "TransactWriteItems":
		for _, t := range v.TransactItems {
			for verb, a := range t {
				parts = append(parts, verb+" "+a.String())
			}
		}
	case "BatchGetItem":
		for _, table := range slices.Sorted(maps.Keys(v.RequestItems)) {
			for _, k := range v.RequestItems[table].Keys {
				parts = append(parts, action{TableName: table, Key: k}.String())
			}
		}
	default:
		parts = append(parts, v.action.String())
	}
	return request{"dynamodb", act, "dynamodb " + act + " " + strings.Join(parts, ", ")}
}

var awsKind = map[fault]awsfault.Kind{
	throttle: awsfault.Throttle, conflict: awsfault.Conflict, errorBefore: awsfault.ErrorBefore, errorAfter: awsfault.ErrorAfterCommit,
}

// carryOut does what the request asks for, with its fault. It runs alone: no other step is under way.
func (w *world) carryOut(i *instance, q request, r *http.Request, body []byte, f fault) (*http.Response, error) {
	if f == lost {
		return nil, errors.New("the connection was lost")
	}
	if q.service == "dynamodb" {
		body = w.mutant.rewritten(q.action, body)
	}
	w.injected.set(i.name, awsKind[f])
	answer := w.serveAWS(r, body)
	w.injected.set(i.name, awsfault.None)
	if answer.Code < 300 {
		w.took(i, q, r, body)
	}
	if w.mutant.answer != nil && q.service == "dynamodb" && answer.Code < 300 {
		answer.Body = bytes.NewBuffer(w.mutant.answered(q.action, body, answer.Body.Bytes()))
		answer.Header().Del("X-Amz-Crc32")
		answer.Header().Del("Content-Length")
	}
	if f == answerLost {
		return nil, errors.New("the connection was lost")
	}
	res := answer.Result()
	res.Request = r
	return res, nil
}

func (w *world) serveAWS(r *http.Request, body []byte) *httptest.ResponseRecorder {
	own := r.Clone(r.Context())
	own.Body = io.NopCloser(bytes.NewReader(body))
	own.ContentLength = int64(len(body))
	if own.Host == "" {
		own.Host = own.URL.Host
	}
	answer := httptest.NewRecorder()
	w.aws.ServeHTTP(answer, own)
	return answer
}

// took notes what a request that took effect leads to.
func (w *world) took(i *instance, q request, r *http.Request, body []byte) {
	if _, rest, expired := strings.Cut(q.key, "#tool_approval_expired-"); expired {
		var id int64
		_, _ = fmt.Sscanf(rest, "%d", &id)
		w.expired(i, id)
	}
	switch {
	case q.action == "UpdateItem" && bytes.Contains(body, []byte(`":worker"`)) && strings.HasSuffix(q.key, "/"+jobRow):
		var v action
		_ = json.Unmarshal(body, &v)
		w.claimed(i.by, text(v.Key["pk"]))
	case q.service == "s3" && q.action == "PUT":
		w.mu.Lock()
		w.objects = append(w.objects, stored{r.URL.Path, body})
		w.mu.Unlock()
	case q.service == "sqs" && q.action == "SendMessage":
		var v struct {
			QueueUrl     string
			DelaySeconds int
		}
		_ = json.Unmarshal(body, &v)
		w.in(time.Duration(v.DelaySeconds)*time.Second, func() { w.poll(v.QueueUrl) })
	}
}

// injected holds the fault of the request that each process is making.
type injected struct {
	mu sync.Mutex
	by map[string]awsfault.Kind
}

func (i *injected) set(name string, k awsfault.Kind) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.by == nil {
		i.by = map[string]awsfault.Kind{}
	}
	i.by[name] = k
}

func (i *injected) hook(op awsfault.Op) awsfault.Fault {
	i.mu.Lock()
	defer i.mu.Unlock()
	return awsfault.Fault{Kind: i.by[op.AccessKey]}
}

// ask makes a request to the stand-ins past the schedule: for the world itself, and for what is checked.
func (w *world) ask(target string, in, out any) {
	b, err := json.Marshal(in)
	if err != nil {
		panic(err)
	}
	r := httptest.NewRequest(http.MethodPost, "http://aws.local/", bytes.NewReader(b))
	r.Header.Set("X-Amz-Target", target)
	r.Header.Set("Content-Type", "application/x-amz-json-1.0")
	answer := httptest.NewRecorder()
	w.aws.ServeHTTP(answer, r)
	if answer.Code != http.StatusOK {
		panic(fmt.Sprintf("sim: %s %s: %s", target, b, answer.Body))
	}
	if out != nil {
		if err := json.Unmarshal(answer.Body.Bytes(), out); err != nil {
			panic(err)
		}
	}
}

// value is an attribute of any type.
type value struct {
	S    *string
	N    *string
	B    []byte
	BOOL *bool
	L    []value
	M    map[string]value
	SS   []string
}

// row is an item of a table.
type row map[string]value

func (r row) str(name string) string {
	if v := r[name].S; v != nil {
		return *v
	}
	return ""
}

func (r row) num(name string) (n int64) {
	if v := r[name].N; v != nil {
		_, _ = fmt.Sscan(*v, &n)
	}
	return n
}

func (r row) bool(name string) bool { return r[name].BOOL != nil && *r[name].BOOL }

func (r row) time(name string) time.Time {
	if r[name].N == nil {
		return time.Time{}
	}
	return time.UnixMilli(r.num(name)).UTC()
}

// scan reads a whole table.
func (w *world) scan(table string) []row {
	var rows []row
	in := map[string]any{"TableName": prefix + table, "ConsistentRead": true}
	for {
		var out struct {
			Items            []row
			LastEvaluatedKey map[string]any
		}
		w.ask("DynamoDB_20120810.Scan", in, &out)
		rows = append(rows, out.Items...)
		if out.LastEvaluatedKey == nil {
			return rows
		}
		in["ExclusiveStartKey"] = out.LastEvaluatedKey
	}
}

// partition reads the rows of one partition whose sort key begins with begin.
func (w *world) partition(table, pk, begin string) []row {
	var out struct{ Items []row }
	w.ask("DynamoDB_20120810.Query", map[string]any{
		"TableName": prefix + table, "ConsistentRead": true, "KeyConditionExpression": "pk = :pk AND begins_with(sk, :sk)",
		"ExpressionAttributeValues": map[string]any{":pk": map[string]any{"S": pk}, ":sk": map[string]any{"S": begin}},
	}, &out)
	return out.Items
}

// get reads one row, nil when there is none.
func (w *world) get(table, pk, sk string) row {
	var out struct{ Item row }
	w.ask("DynamoDB_20120810.GetItem", map[string]any{
		"TableName": prefix + table, "ConsistentRead": true,
		"Key": map[string]any{"pk": map[string]any{"S": pk}, "sk": map[string]any{"S": sk}},
	}, &out)
	return out.Item
}
