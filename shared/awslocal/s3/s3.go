package s3

import (
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"unicode/utf8"

	"bailing/shared/awslocal/fault"
	"bailing/shared/awslocal/wire"
	"bailing/shared/clock"
)

// Limits, in bytes.
const (
	MaxObject   = 64 << 20
	maxKey      = 1024
	maxMetadata = 2 << 10
)

// Journal keeps the service's records; a [bailing/shared/awslocal/wal.Log] is one.
type Journal interface {
	// Append returns when rec is on stable storage.
	Append(rec []byte) error
}

// Options of a service. The zero value makes one in memory, on the machine's clock, without faults.
type Options struct {
	Clock  clock.Clock
	Faults *fault.Injector
	Log    Journal // nil keeps everything in memory only
	Dir    string  // where object bytes are; "" is memory. Set with Log, or not at all.
	Logger *slog.Logger
}

// Service is the stand-in. It is an http.Handler, safe for concurrent use.
type Service struct {
	clock  clock.Clock
	faults *fault.Injector
	log    Journal
	logger *slog.Logger
	blobs  blobStore

	// commit is held while a record is decided on, appended and applied, so that memory and journal see one order of
	// writes to a key. Lock order: commit, then mu. mu is never held while a sync is waited for.
	commit sync.Mutex

	mu      sync.RWMutex
	buckets map[string]map[string]*object
	nextID  uint64 // of blobs
}

// New returns a service without buckets. Hand it the journal's records with Replay, then call Ready, before it serves.
func New(o Options) (*Service, error) {
	s := &Service{clock: o.Clock, faults: o.Faults, log: o.Log, logger: o.Logger, buckets: map[string]map[string]*object{}, nextID: 1}
	if s.clock == nil {
		s.clock = clock.System()
	}
	if s.faults == nil {
		s.faults = &fault.Injector{}
	}
	if s.log == nil {
		s.log = noJournal{}
	}
	if s.logger == nil {
		s.logger = slog.New(slog.DiscardHandler)
	}
	if o.Dir == "" {
		s.blobs = &memoryBlobs{}
		return s, nil
	}
	var err error
	s.blobs, err = openFileBlobs(o.Dir)
	return s, err
}

type noJournal struct{}

func (noJournal) Append([]byte) error { return nil }

// request is one decoded request.
type request struct {
	*http.Request
	bucket, key string // key is "" for an operation on the bucket
}

type operation struct {
	name    string
	handle  func(*Service, http.ResponseWriter, *request) error
	headers []string // request headers with the prefix x-amz- or a condition that the operation understands
}

// operationFor returns the operation of a request, or the error that refuses it.
func operationFor(r *request) (operation, error) {
	for name := range r.URL.Query() {
		if name != "x-id" { // the SDK's note of the operation
			return operation{}, errNotImplemented("The query parameter " + name)
		}
	}
	if r.key == "" {
		switch r.Method {
		case http.MethodPut:
			return operation{name: "CreateBucket", handle: (*Service).createBucket}, nil
		case http.MethodHead:
			return operation{name: "HeadBucket", handle: (*Service).headBucket}, nil
		}
		return operation{}, errNotImplemented(r.Method + " of a bucket")
	}
	switch r.Method {
	case http.MethodPut:
		return operation{"PutObject", (*Service).putObject, []string{"if-none-match", "x-amz-sdk-checksum-algorithm", "x-amz-trailer",
			"x-amz-decoded-content-length", "x-amz-checksum-*", "x-amz-meta-*"}}, nil
	case http.MethodGet:
		return operation{"GetObject", (*Service).getObject, []string{"range", "x-amz-checksum-mode"}}, nil
	case http.MethodHead:
		return operation{"HeadObject", (*Service).headObject, []string{"x-amz-checksum-mode"}}, nil
	case http.MethodDelete:
		return operation{name: "DeleteObject", handle: (*Service).deleteObject}, nil
	}
	return operation{}, errNotImplemented("The method " + r.Method)
}

// checkHeaders refuses what would change the meaning of the request and is not understood.
func (o operation) checkHeaders(h http.Header) error {
	for name := range h {
		name = strings.ToLower(name)
		switch name {
		case "x-amz-date", "x-amz-content-sha256", "x-amz-security-token", "x-amz-user-agent":
			continue
		case "if-match", "if-none-match", "if-modified-since", "if-unmodified-since", "range":
		default:
			if !strings.HasPrefix(name, "x-amz-") {
				continue
			}
		}
		if !o.understands(name) {
			return errNotImplemented("The header " + name + " of " + o.name)
		}
	}
	return nil
}

func (o operation) understands(header string) bool {
	for _, h := range o.headers {
		prefix, isPrefix := strings.CutSuffix(h, "*")
		if h == header || isPrefix && strings.HasPrefix(header, prefix) {
			return true
		}
	}
	return false
}

// ServeHTTP serves path-style requests: /bucket and /bucket/key.
func (s *Service) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	// A client that is still sending when the connection closes loses the answer: a refused upload is read to its end.
	defer io.Copy(io.Discard, r.Body)
	req, op, err := parse(r)
	if err != nil {
		s.fail(w, r, err)
		return
	}
	wire.Serve(w, r, s.faults, s.clock, wire.Operation{
		Op: fault.Op{Service: "s3", Action: op.name, Resource: req.bucket, AccessKey: wire.AccessKey(r)},
		Run: func(w http.ResponseWriter, _ bool) {
			if err := op.handle(s, w, req); err != nil {
				s.fail(w, r, err)
			}
		},
		Throttle: func(w http.ResponseWriter) { errThrottled().write(w, r) },
		Fail:     func(w http.ResponseWriter) { errInternal().write(w, r) },
	})
}

func (s *Service) fail(w http.ResponseWriter, r *http.Request, err error) {
	var api *apiError
	if !errors.As(err, &api) {
		s.logger.Error("s3 request failed", "err", err)
		api = errInternal()
	}
	api.write(w, r)
}

func parse(r *http.Request) (*request, operation, error) {
	req := &request{Request: r}
	rawBucket, rawKey, _ := strings.Cut(strings.TrimPrefix(r.URL.EscapedPath(), "/"), "/")
	var err error
	if req.bucket, err = url.PathUnescape(rawBucket); err == nil {
		req.key, err = url.PathUnescape(rawKey)
	}
	switch {
	case err != nil || !utf8.ValidString(req.key):
		return nil, operation{}, errBadRequest("InvalidURI", "Couldn't parse the specified URI.")
	case req.bucket == "":
		return nil, operation{}, errNotImplemented("A request without a bucket (" + r.Method + " " + r.URL.Path + ")")
	case len(req.key) > maxKey:
		return nil, operation{}, errBadRequest("KeyTooLongError", "Your key is too long: the limit is %d bytes.", maxKey)
	}
	op, err := operationFor(req)
	if err == nil {
		err = op.checkHeaders(r.Header)
	}
	return req, op, err
}
