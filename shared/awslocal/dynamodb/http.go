package dynamodb

import (
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"bailing/shared/awslocal/fault"
	"bailing/shared/clock"
)

const (
	targetPrefix    = "DynamoDB_20120810."
	maxRequestBytes = 16 << 20
)

// call is one request on its way through an operation.
type call struct {
	in *object
	// half asks a batch to process only its first half, because of an injected throttle.
	half bool
}

// operation runs a request and returns the JSON of its answer. It reads all members and calls in.done before it has any effect.
type operation func(c *call) ([]byte, error)

func (s *Service) operation(action string) operation {
	switch action {
	case "CreateTable":
		return s.createTable
	case "DescribeTable":
		return s.describeTable
	case "ListTables":
		return s.listTables
	case "DeleteTable":
		return s.deleteTable
	case "UpdateTable":
		return s.updateTable
	case "UpdateTimeToLive":
		return s.updateTimeToLive
	case "DescribeTimeToLive":
		return s.describeTimeToLive
	case "PutItem":
		return s.putItem
	case "GetItem":
		return s.getItem
	case "UpdateItem":
		return s.updateItem
	case "DeleteItem":
		return s.deleteItem
	case "Query":
		return s.query
	case "Scan":
		return s.scan
	case "BatchGetItem":
		return s.batchGetItem
	case "BatchWriteItem":
		return s.batchWriteItem
	case "TransactWriteItems":
		return s.transactWriteItems
	case "TransactGetItems":
		return s.transactGetItems
	}
	return nil
}

// errDropped means that the connection shall be closed without an answer.
var errDropped = errors.New("dynamodb: dropped by an injected fault")

// ServeHTTP serves POST / with X-Amz-Target: DynamoDB_20120810.<Operation>.
func (s *Service) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodPost {
		http.Error(w, "only POST is served here", http.StatusMethodNotAllowed)
		return
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxRequestBytes))
	if err != nil {
		s.answerError(w, "", requestTooLarge(err))
		return
	}
	action := strings.TrimPrefix(r.Header.Get("X-Amz-Target"), targetPrefix)
	answer, err := s.run(r.Context(), action, accessKey(r), body)
	switch {
	case errors.Is(err, errDropped):
		drop(w)
	case err != nil:
		s.answerError(w, action, err)
	default:
		s.answer(w, http.StatusOK, answer)
	}
}

func requestTooLarge(err error) error {
	var tooLarge *http.MaxBytesError
	if errors.As(err, &tooLarge) {
		return invalid("Request size exceeded %d bytes", maxRequestBytes)
	}
	return &apiError{code: codeSerialization, message: "The request body could not be read"}
}

// run decodes a request, applies the injected fault and runs the operation.
func (s *Service) run(ctx context.Context, action, accessKey string, body []byte) ([]byte, error) {
	op := s.operation(action)
	if op == nil {
		return nil, &apiError{code: codeUnknownOperation, message: fmt.Sprintf("The operation %q is not implemented", action)}
	}
	in, err := parseRequest(body)
	if err != nil {
		return nil, err
	}
	f := s.faults.Next(fault.Op{Service: "dynamodb", Action: action, Resource: resource(in), AccessKey: accessKey})
	if f.Delay > 0 {
		if err := clock.Sleep(ctx, s.clock, f.Delay); err != nil {
			return nil, errDropped // the caller has gone
		}
	}
	c := &call{in: in}
	if err := before(f.Kind, action, c); err != nil {
		return nil, err
	}
	answer, err := op(c)
	switch f.Kind {
	case fault.ErrorAfterCommit:
		return nil, internalError()
	case fault.DropAfterCommit:
		return nil, errDropped
	}
	return answer, err
}

// before is what a fault does instead of the operation; nil lets it run.
func before(kind fault.Kind, action string, c *call) error {
	switch kind {
	case fault.Throttle:
		switch {
		case (action == "BatchGetItem" || action == "BatchWriteItem") && batchSize(c.in) > 1:
			c.half = true
			return nil
		case strings.HasSuffix(action, "Table") || strings.HasSuffix(action, "Tables") || strings.HasSuffix(action, "TimeToLive"):
			return &apiError{code: codeThrottled, message: "Rate exceeded"}
		}
		return &apiError{code: codeThroughput, message: "The level of configured provisioned throughput for the table was exceeded"}
	case fault.Conflict:
		switch action {
		case "PutItem", "UpdateItem", "DeleteItem":
			return &apiError{code: codeConflict, message: "Transaction is ongoing for the item"}
		case "TransactWriteItems", "TransactGetItems":
			return conflictOfAll(c.in)
		}
	case fault.ErrorBefore:
		return internalError()
	case fault.Drop:
		return errDropped
	}
	return nil
}

// conflictOfAll cancels a transaction with a conflict on every item.
func conflictOfAll(in *object) error {
	actions, _ := in.members["TransactItems"].([]any)
	reasons := make([]reason, len(actions))
	for i := range reasons {
		reasons[i] = reason{code: "TransactionConflict", message: "Transaction is ongoing for the item"}
	}
	return canceled(reasons)
}

// resource is the table that fault hooks see: the first one of a batch or transaction.
func resource(in *object) string {
	if name, ok := in.members["TableName"].(string); ok {
		return name
	}
	if tables, ok := in.members["RequestItems"].(map[string]any); ok {
		first := ""
		for name := range tables {
			if first == "" || name < first {
				first = name
			}
		}
		return first
	}
	actions, _ := in.members["TransactItems"].([]any)
	for _, a := range actions {
		kinds, _ := a.(map[string]any)
		for _, k := range kinds {
			m, _ := k.(map[string]any)
			name, _ := m["TableName"].(string)
			return name
		}
	}
	return ""
}

// accessKey is the access key id of a version 4 signature, which is not verified.
func accessKey(r *http.Request) string {
	_, credential, _ := strings.Cut(r.Header.Get("Authorization"), "Credential=")
	key, _, _ := strings.Cut(credential, "/")
	return key
}

// The Go SDK closes the body of its request as soon as it sees the header of the answer. When that happens before net/http has
// noticed that the request is complete, it takes the request for failed and closes the connection, while the SDK
// still reads the answer from it. Over a network that cannot happen; over loopback it hits about one large answer in a hundred.
// Answers that the client gets in one read with their header are safe. The others wait a little: real time, because the
// client's goroutines run in it.
const (
	inOneRead   = 3 << 10
	answerPause = time.Millisecond
)

func (s *Service) answer(w http.ResponseWriter, status int, body []byte) {
	h := w.Header()
	h.Set("Content-Type", "application/x-amz-json-1.0")
	h.Set("Content-Length", strconv.Itoa(len(body)))
	h.Set("X-Amzn-Requestid", fmt.Sprintf("%032X", s.requests.Add(1)))
	h.Set("X-Amz-Crc32", strconv.FormatUint(uint64(crc32.ChecksumIEEE(body)), 10))
	if len(body) > inOneRead {
		time.Sleep(answerPause)
	}
	w.WriteHeader(status)
	if _, err := w.Write(body); err != nil {
		s.log.Debug("dynamodb answer not delivered", "error", err)
	}
}

func (s *Service) answerError(w http.ResponseWriter, action string, err error) {
	e := asAPIError(err)
	if e.code == codeInternal {
		s.log.Warn("dynamodb request failed", "action", action, "error", err)
	}
	s.answer(w, e.status(), e.body())
}

// drop closes the connection without an answer.
func drop(w http.ResponseWriter) {
	conn, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		panic(http.ErrAbortHandler) // the net/http way where a connection cannot be taken over
	}
	conn.Close()
}
