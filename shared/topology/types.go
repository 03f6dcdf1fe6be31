package topology

import (
	"slices"
	"time"
)

// Topology is the whole system.
type Topology struct {
	Tables    []Table
	Queues    []Queue
	Bucket    Bucket
	Functions []Function
	Machines  []StateMachine
}

// Table is one DynamoDB table with a string partition key "pk" and a string sort key "sk", billed per request.
type Table struct {
	Name    string // logical; a deployment adds its own prefix
	Purpose string
	Indexes []Index
	TTL     string // attribute holding the expiry in Unix seconds; "" for none
	Backup  bool   // point-in-time recovery
}

// Index is a global secondary index with string keys. An item without both keys is not in it.
type Index struct {
	Name         string
	PartitionKey string
	SortKey      string
	KeysOnly     bool // project keys only; else all attributes
}

// Queue is a standard SQS queue with its dead-letter queue, which is named Name + "-dlq".
type Queue struct {
	Name            string
	Purpose         string
	Visibility      time.Duration // hides a received message; at least six times the consumer's timeout
	MaxReceiveCount int           // receives after which a message moves to the dead-letter queue
	MaxConcurrency  int           // concurrent invocations that the event source may start; at least 2
}

// Bucket holds content-addressed values that do not fit into an item.
type Bucket struct {
	Name    string
	Purpose string
}

// Function is one Lambda function.
type Function struct {
	Name      string // also the folder below functions/ and the bootstrap's folder in build/
	Purpose   string
	Routes    []Route
	Queue     string        // consumed queue, "" for none
	BatchSize int           // messages per invocation, with Queue
	Every     time.Duration // schedule, 0 for none
	MemoryMB  int
	Timeout   time.Duration
	Signs     bool // needs the server token to sign what belongs to no client (core §2.2)
	Logins    bool // logs administrators in, and creates the first one (core §10.1)
	Tells     bool // tells people what waits for them, with the hub's address, and what no route tells (core §6.4, §11.9)
	Streaming bool // response streaming: up to 15 minutes instead of 29 seconds
	Grants    []Grant
}

// StateMachine is one standard state machine of Step Functions.
type StateMachine struct {
	Name    string // logical; a deployment adds its own prefix
	Purpose string
	// Definition is the file below infra/machines that holds it in Amazon States Language. ${name} in it stands for the ARN of the
	// function called name.
	Definition string
	Invokes    []string // the functions that its tasks invoke, and that nothing else does
}

// Package is the import path of the function's handlers, below the module's root.
func (f Function) Package() string { return "functions/" + f.Name }

// NeedsServerToken reports whether the function compares a credential with the server token, or signs with it.
func (f Function) NeedsServerToken() bool {
	return f.Signs || slices.ContainsFunc(f.Routes, func(r Route) bool { return r.Auth != Public && r.Auth != Client && r.Auth != Agent })
}

// Any is the method of a route that takes every method which its resource has no route for, as API Gateway writes it.
const Any = "ANY"

// Route is one method of one resource, in API Gateway's notation: {name} matches a segment, a final {name+} the rest.
type Route struct {
	Method  string // or Any
	Path    string
	Handler string // the method of the function's handler type that serves it
	Auth    Auth
	Summary string
}

// Auth says who may call a route (core §0.3).
type Auth string

const (
	Public        Auth = "public"        // no credential
	ClientOrAdmin Auth = "clientOrAdmin" // client token or server token
	Admin         Auth = "admin"         // session of an administrator, or server token
	Decider       Auth = "decider"       // token of the client that owns the job, signature with it, or server token
	Client        Auth = "client"        // client token alone (agent §2.1)
	Agent         Auth = "agent"         // access token of an agent's session (agent §1.2)
)

// ResourceKind is what a grant is about.
type ResourceKind string

const (
	OnTable  ResourceKind = "table"
	OnQueue  ResourceKind = "queue"
	OnBucket ResourceKind = "bucket"
	OnKey    ResourceKind = "key" // the master key of envelope encryption; Name is "secrets"

	// OnMachine is about a state machine: starting its executions, and answering the tokens of its tasks.
	OnMachine ResourceKind = "machine"
)

// Grant allows a function to call exactly these API actions on one resource (and a table's indexes).
type Grant struct {
	Kind    ResourceKind
	Name    string
	Actions []string
}
