package topology

import (
	"net/http"
	"time"
)

// Names of the tables, queues, indexes and the bucket, for code that must address them.
const (
	TableRegistry = "registry"
	TableJobs     = "jobs"
	TableLedger   = "ledger"
	TableAgents   = "agents"

	IndexKind = "kind" // registry: objects of one kind by name
	IndexDue  = "due"  // jobs: what the sweeper must look at, by time
	IndexDead = "dead" // jobs: what waits for a person: dead letters by the time of their death, unresolved calls by their own
	IndexTime = "time" // jobs: all of them by the time of their launch

	QueueJobs      = "jobs"
	QueueCallbacks = "callbacks"
	BucketValues   = "values"
	KeySecrets     = "secrets"

	MachineApprovals = "approvals"
)

const (
	// WorkerTimeout is how long one job invocation may run: Lambda's limit.
	WorkerTimeout = 900 * time.Second
	// CallbackTimeout is how long one invocation may take that attempts a batch of callbacks side by side.
	CallbackTimeout = 60 * time.Second
	// GatewayTimeout is how long API Gateway waits for a buffered answer.
	GatewayTimeout = 29 * time.Second
	// WaitTimeout is how long one task of an approval's wait may take: a notification to a slow business is the longest.
	WaitTimeout = 60 * time.Second
)

// System returns the topology of this product. The value is built anew on each call: callers may change theirs.
func System() Topology {
	return Topology{
		Tables: []Table{
			{
				Name: TableRegistry, Purpose: "configuration, administrators and their sessions; secrets sealed, tokens found by their hash", Backup: true, TTL: "ttl",
				Indexes: []Index{{Name: IndexKind, PartitionKey: "gk", SortKey: "gs", KeysOnly: true}},
			},
			{
				Name: TableJobs, Purpose: "jobs, request ids, threads, rounds, outbox, limit buckets", Backup: true, TTL: "ttl",
				Indexes: []Index{
					{Name: IndexDue, PartitionKey: "dpk", SortKey: "dsk", KeysOnly: true},
					{Name: IndexDead, PartitionKey: "xpk", SortKey: "xsk", KeysOnly: true},
					{Name: IndexTime, PartitionKey: "tpk", SortKey: "tsk", KeysOnly: true},
				},
			},
			{Name: TableLedger, Purpose: "audit records", Backup: true, TTL: "ttl"},
			{Name: TableAgents, Purpose: "authorizations and sessions of local agents, their tokens found by their hash", Backup: true, TTL: "ttl"},
		},
		Queues: []Queue{
			{
				Name: QueueJobs, Purpose: "one message per runnable job; the message carries its id",
				Visibility: 6 * WorkerTimeout, MaxReceiveCount: 5, MaxConcurrency: 10,
			},
			{
				Name: QueueCallbacks, Purpose: "one message per attempt at a callback or delivery; the message names its outbox row",
				Visibility: 6 * CallbackTimeout, MaxReceiveCount: 5, MaxConcurrency: 20,
			},
		},
		Bucket:    Bucket{Name: BucketValues, Purpose: "content-addressed values too large for an item"},
		Functions: []Function{runs(), approvals(), agentAuth(), admin(), jobWorker(), callbackWorker(), sweeper(), refresher(), approvalWait()},
		Machines: []StateMachine{{
			Name: MachineApprovals, Purpose: "one execution per approval: tell who decides, wait for the decision, end the ticket at its deadline",
			Definition: "approval.asl.json", Invokes: []string{"approvalwait"},
		}},
	}
}

// FunctionNamed returns the function called name; ok is false when there is none.
func (t Topology) FunctionNamed(name string) (f Function, ok bool) {
	for _, f := range t.Functions {
		if f.Name == name {
			return f, true
		}
	}
	return Function{}, false
}

func runs() Function {
	return Function{
		Name: "runs", Purpose: "the business API: submit and read jobs; health, version, contracts",
		MemoryMB: 256, Timeout: GatewayTimeout,
		Routes: []Route{
			{http.MethodPost, "/run", "SubmitRun", ClientOrAdmin, "Submit a job"},
			{http.MethodGet, "/jobs/{id}", "GetJob", ClientOrAdmin, "Read a job"},
			{http.MethodGet, "/health", "Health", Public, "Liveness, pause switch and build"},
			{http.MethodHead, "/health", "Health", Public, "Liveness without a body"},
			{http.MethodGet, "/health/ready", "Ready", Public, "Readiness of the state backend"},
			{http.MethodHead, "/health/ready", "Ready", Public, "Readiness without a body"},
			{http.MethodGet, "/version", "Version", Public, "Build and contract versions"},
			{http.MethodGet, "/schemas/{proxy+}", "Schema", Public, "JSON Schemas"},
			{http.MethodGet, "/contracts/client-api/v1/{file}", "Contract", Public, "Artefacts of client-api v1"},
			{http.MethodGet, "/openapi.json", "OpenAPI", Public, "This API as an OpenAPI document"},
		},
		Grants: []Grant{
			{OnTable, TableRegistry, []string{"dynamodb:BatchGetItem", "dynamodb:Query"}},
			{OnTable, TableJobs, []string{"dynamodb:BatchGetItem", "dynamodb:PutItem"}},
			{OnTable, TableLedger, []string{"dynamodb:PutItem"}},
			{OnBucket, BucketValues, []string{"s3:GetObject", "s3:PutObject"}},
			{OnQueue, QueueJobs, []string{"sqs:SendMessage", "sqs:GetQueueAttributes"}},
		},
	}
}

func approvals() Function {
	return Function{
		Name: "approvals", Purpose: "decisions about calls that wait for a person, and what they are about", MemoryMB: 256, Timeout: GatewayTimeout,
		Routes: []Route{
			{http.MethodPost, "/approvals/{id}/decision", "Decide", Decider, "Approve or deny a call"},
			{http.MethodGet, "/approvals/{id}/arguments", "Arguments", Decider, "Read the arguments of a call that waits for approval"},
		},
		Grants: []Grant{
			{OnTable, TableRegistry, []string{"dynamodb:BatchGetItem"}},
			{OnTable, TableJobs, []string{"dynamodb:BatchGetItem", "dynamodb:PutItem", "dynamodb:UpdateItem"}},
			{OnTable, TableLedger, []string{"dynamodb:PutItem"}},
			{OnBucket, BucketValues, []string{"s3:GetObject", "s3:PutObject"}},
			{OnQueue, QueueJobs, []string{"sqs:SendMessage"}},
			{OnKey, KeySecrets, []string{"kms:Decrypt"}},
			{OnMachine, MachineApprovals, []string{"states:SendTaskSuccess"}},
		},
	}
}

func agentAuth() Function {
	const (
		v1     = "/agent-auth/v1"
		wanted = v1 + "/authorizations"
		held   = v1 + "/sessions"
	)
	f := Function{
		Name: "agentauth", Purpose: "local agents that are let in by people, and their sessions", MemoryMB: 256, Timeout: GatewayTimeout,
		Routes: []Route{
			{http.MethodPost, wanted, "CreateAuthorization", Public, "Ask a person to let an agent in"},
			{http.MethodGet, wanted + "/{id}", "ReadAuthorization", Client, "What an agent asks for"},
			{http.MethodPost, wanted + "/{id}/approve", "ApproveAuthorization", Client, "Let an agent in"},
			{http.MethodPost, wanted + "/{id}/deny", "DenyAuthorization", Client, "Refuse an agent"},
			{http.MethodPost, wanted + "/{id}/revoke", "RevokeAuthorization", Client, "Take an authorization back"},
			{http.MethodPost, v1 + "/token", "IssueTokens", Public, "Exchange a code, or refresh"},
			{http.MethodGet, v1 + "/session", "ReadSession", Agent, "Who an agent acts for"},
			{http.MethodPost, v1 + "/revoke", "RevokeTokens", Public, "Log an agent out"},
			{http.MethodGet, held, "ListSessions", Client, "The sessions of a client"},
			{http.MethodPost, held + "/{id}/revoke", "RevokeSession", Client, "Revoke a session"},
			{http.MethodPut, held + "/{id}/subject-display", "SetSubjectDisplay", Client, "Set how a session's person is shown"},
		},
		Grants: []Grant{
			{OnTable, TableRegistry, []string{"dynamodb:BatchGetItem"}},
			{OnTable, TableAgents, []string{"dynamodb:BatchGetItem", "dynamodb:Query", "dynamodb:PutItem", "dynamodb:UpdateItem", "dynamodb:DeleteItem"}},
			{OnBucket, BucketValues, []string{"s3:GetObject"}}, // outsized clients
		},
	}
	// What these paths refuse is refused in the surface's own form, which the gateway does not know (agent §2.1).
	for _, path := range []string{wanted + "/{id}", wanted + "/{id}/approve", wanted + "/{id}/deny", wanted + "/{id}/revoke", held, held + "/{id}/revoke", held + "/{id}/subject-display"} {
		f.Routes = append(f.Routes, Route{Any, path, "OtherMethod", Public, "Refuse another method"})
	}
	for _, path := range []string{wanted, v1 + "/token", v1 + "/session", v1 + "/revoke", "/agent-auth/{proxy+}"} {
		f.Routes = append(f.Routes, Route{Any, path, "Unknown", Public, "Refuse what is not there"})
	}
	return f
}

func admin() Function {
	f := Function{
		Name: "admin", Purpose: "configuration and operation", Timeout: GatewayTimeout,
		MemoryMB: 1024, // a large specification is compiled here
		Logins:   true,
		Routes: []Route{
			{http.MethodPost, "/admin/login", "Login", Public, "Log in as an administrator"},
			{http.MethodPost, "/admin/logout", "Logout", Public, "End the session"},
			{http.MethodGet, "/admin/api/me", "Me", Admin, "Who the caller is, with which permissions"},
			{http.MethodGet, "/admin/api/capabilities", "Capabilities", Admin, "What this edition of the hub has"},
			{http.MethodPost, "/admin/api/password", "ChangePassword", Admin, "Change the password of the session's administrator"},
			{http.MethodGet, "/admin/api/admins", "ListAdmins", Admin, "List administrators"},
			{http.MethodPost, "/admin/api/admins", "SaveAdmins", Admin, "Create or update an administrator"},
			{http.MethodDelete, "/admin/api/admins/{username}", "DeleteAdmins", Admin, "Delete an administrator"},
			{http.MethodPost, "/admin/pause", "Pause", Admin, "Stop accepting and running jobs"},
			{http.MethodPost, "/admin/resume", "Resume", Admin, "Accept and run jobs again"},
			{http.MethodGet, "/admin/api/status", "SystemStatus", Admin, "Pause switch and length of the queue"},
			{http.MethodGet, "/admin/api/dispatch-status", "DispatchStatus", Admin, "What is queued, who works on what, and what waits for whom"},
			{http.MethodGet, "/admin/api/cost", "Cost", Admin, "What jobs used, by day, target and route"},
			{http.MethodGet, "/admin/api/config-audit", "ConfigAudit", Admin, "Changes of the configuration, latest first"},
			{http.MethodGet, "/admin/api/audit-export", "ExportAudit", Admin, "Audit records as lines that are chained by hash"},
			{http.MethodGet, "/admin/api/config-diagnostics", "Diagnostics", Admin, "What is not ready, and why"},
			{http.MethodGet, "/admin/api/config-schemas/{name}", "ConfigSchema", Admin, "The JSON Schema of a configuration object"},
			{http.MethodGet, "/admin/api/runs", "ListRuns", Admin, "List jobs, latest first"},
			{http.MethodGet, "/admin/api/runs/trace", "FindTrace", Admin, "Find a job, or its trace, by an id"},
			{http.MethodGet, "/admin/api/runs/{job}", "GetRun", Admin, "Read a job as an administrator"},
			{http.MethodPost, "/admin/api/runs/{job}/rerun", "RerunRun", Admin, "Queue a job that has ended again"},
			{http.MethodGet, "/admin/api/runs/{job}/trace", "RunTrace", Admin, "Everything that is known about a job"},
			{http.MethodGet, "/admin/api/runs/{job}/audit", "JobAudit", Admin, "The audit records of a job, oldest first"},
			{http.MethodGet, "/admin/api/runs/{job}/deliveries", "JobDeliveries", Admin, "The callbacks and deliveries of a job, oldest first"},
			{http.MethodGet, "/admin/api/delivery-dlq", "ListDeadLetters", Admin, "Dead letters of callbacks and deliveries, latest first"},
			{http.MethodPost, "/admin/api/delivery-dlq/replay", "ReplayDeadLetters", Admin, "Deliver dead letters anew: some, or all since a time"},
			{http.MethodPost, "/admin/api/delivery-dlq/{id}/resend", "ResendDeadLetter", Admin, "Make one attempt at a dead letter now"},
			{http.MethodPost, "/admin/api/delivery-dlq/{id}/resolve", "ResolveDeadLetter", Admin, "Close a dead letter without sending it"},
			{http.MethodGet, "/admin/api/reconciliations", "ListReconciliations", Admin, "Calls of unknown outcome, latest first"},
			{http.MethodGet, "/admin/api/reconciliations/{job}/{key}", "GetReconciliation", Admin, "Read a call that is or was of unknown outcome"},
			{http.MethodPost, "/admin/api/reconciliations/{job}/{key}/close", "CloseReconciliation", Admin, "Close a call as happened or not happened"},
			{http.MethodGet, "/admin/api/tool-approvals", "ListApprovals", Admin, "Calls that wait for a decision, or did, latest first"},
			{http.MethodGet, "/admin/api/tool-approvals/{id}", "GetApproval", Admin, "Read a ticket with what it froze"},
			{http.MethodGet, "/admin/api/tool-approvals/{id}/intent", "RevealIntent", Admin, "Show what a ticket of a sensitive tool froze"},
			{http.MethodPost, "/admin/api/tool-approvals/{id}/approve", "ApproveCall", Admin, "Approve a call"},
			{http.MethodPost, "/admin/api/tool-approvals/{id}/deny", "DenyCall", Admin, "Deny a call"},
			{http.MethodPost, "/admin/api/tool-providers/{name}/refresh", "RefreshProvider", Admin, "Read a specification from its URL anew"},
			{http.MethodPost, "/admin/api/tool-providers/{name}/authz-probe", "ProbeProvider", Admin, "Ask a business whether it refuses a subject without rights"},
			{http.MethodGet, "/admin/api/tool-providers/{name}/events", "ProviderEvents", Admin, "What the hub found out about a tool provider, latest first"},
			{http.MethodGet, "/admin/api/tool-providers/{name}/tools", "ProviderTools", Admin, "What a specification compiled to"},
			{http.MethodPost, "/admin/api/tool-providers/{name}/debug-invoke", "DebugProvider", Admin, "Make one call of a tool by hand"},
			{http.MethodGet, "/admin/api/tool-providers/{name}/secret", "RevealSecret", Admin, "Show the secret of a tool provider"},
			{http.MethodGet, "/admin/api/clients/{app_id}/token", "RevealToken", Admin, "Show the token of a client"},
			{http.MethodGet, "/admin/api/routes/{route_key}/agent-setup", "RouteSetup", Admin, "What a route offers to local agents"},
			{http.MethodPut, "/admin/api/routes/{route_key}/agent-setup", "SaveRouteSetup", Admin, "Change what a route offers to local agents"},
			{http.MethodGet, "/admin/api/clients/{app_id}/agent-setup", "ClientSetup", Admin, "How a client lets local agents in"},
			{http.MethodPut, "/admin/api/clients/{app_id}/agent-setup", "SaveClientSetup", Admin, "Change how a client lets local agents in"},
			{http.MethodGet, "/admin/api/agent-clients/overview", "AgentOverview", Admin, "Clients and routes from the view of local agents"},
			{http.MethodGet, "/admin/api/agent-clients/sessions", "ListAgentSessions", Admin, "List sessions of local agents, newest first"},
			{http.MethodPost, "/admin/api/agent-clients/sessions/{id}/revoke", "RevokeAgentSession", Admin, "Revoke a session of a local agent"},
			{http.MethodPost, "/admin/api/routes/auto-preview", "PreviewAuto", Admin, "What route \"auto\" would decide, and why about every route"},
		},
		Grants: []Grant{
			{OnTable, TableRegistry, []string{"dynamodb:BatchGetItem", "dynamodb:Query", "dynamodb:PutItem", "dynamodb:UpdateItem", "dynamodb:DeleteItem", "dynamodb:ConditionCheckItem"}},
			{OnTable, TableJobs, []string{"dynamodb:BatchGetItem", "dynamodb:Query", "dynamodb:PutItem", "dynamodb:UpdateItem"}},
			{OnTable, TableAgents, []string{"dynamodb:BatchGetItem", "dynamodb:Query", "dynamodb:UpdateItem"}},
			{OnTable, TableLedger, []string{"dynamodb:Query", "dynamodb:PutItem"}},
			{OnBucket, BucketValues, []string{"s3:GetObject", "s3:PutObject"}},
			{OnQueue, QueueJobs, []string{"sqs:SendMessage"}},
			{OnQueue, QueueCallbacks, []string{"sqs:SendMessage"}},
			{OnKey, KeySecrets, []string{"kms:GenerateDataKey", "kms:Decrypt"}},
			{OnMachine, MachineApprovals, []string{"states:SendTaskSuccess"}},
		},
	}
	for _, k := range []struct{ path, name, plural, id string }{
		{"targets", "Targets", "execution targets", "name"},
		{"credentials", "Credentials", "model credentials", "name"},
		{"tool-providers", "Providers", "tool providers", "name"},
		{"routes", "Routes", "routes", "route_key"},
		{"clients", "Clients", "clients", "app_id"},
	} {
		f.Routes = append(f.Routes,
			Route{http.MethodGet, "/admin/api/" + k.path, "List" + k.name, Admin, "List " + k.plural},
			Route{http.MethodPost, "/admin/api/" + k.path, "Save" + k.name, Admin, "Create or update one of the " + k.plural},
			Route{http.MethodDelete, "/admin/api/" + k.path + "/{" + k.id + "}", "Delete" + k.name, Admin, "Delete one of the " + k.plural})
	}
	return f
}

func jobWorker() Function {
	return Function{
		Name: "jobworker", Purpose: "runs one job of the jobs queue", MemoryMB: 512, Timeout: WorkerTimeout,
		Queue: QueueJobs, BatchSize: 1,
		Grants: []Grant{
			{OnTable, TableRegistry, []string{"dynamodb:BatchGetItem"}},
			{OnTable, TableJobs, []string{"dynamodb:BatchGetItem", "dynamodb:GetItem", "dynamodb:Query", "dynamodb:PutItem", "dynamodb:UpdateItem", "dynamodb:ConditionCheckItem"}},
			{OnTable, TableLedger, []string{"dynamodb:PutItem"}},
			{OnBucket, BucketValues, []string{"s3:GetObject", "s3:PutObject"}},
			{OnQueue, QueueJobs, []string{"sqs:ReceiveMessage", "sqs:DeleteMessage", "sqs:GetQueueAttributes", "sqs:SendMessage"}},
			{OnQueue, QueueCallbacks, []string{"sqs:SendMessage"}},
			{OnKey, KeySecrets, []string{"kms:GenerateDataKey", "kms:Decrypt"}},
			{OnMachine, MachineApprovals, []string{"states:StartExecution"}},
		},
	}
}

func callbackWorker() Function {
	return Function{
		Name: "callbackworker", Purpose: "makes the attempts of the callbacks queue", MemoryMB: 512, Timeout: CallbackTimeout,
		Queue: QueueCallbacks, BatchSize: 10, Signs: true,
		Grants: []Grant{
			{OnTable, TableRegistry, []string{"dynamodb:BatchGetItem"}},
			{OnTable, TableJobs, []string{"dynamodb:UpdateItem"}},
			{OnTable, TableLedger, []string{"dynamodb:PutItem"}},
			{OnBucket, BucketValues, []string{"s3:GetObject", "s3:PutObject"}},
			{OnQueue, QueueCallbacks, []string{"sqs:ReceiveMessage", "sqs:DeleteMessage", "sqs:GetQueueAttributes", "sqs:SendMessage"}},
			{OnKey, KeySecrets, []string{"kms:Decrypt"}},
		},
	}
}

func sweeper() Function {
	return Function{
		Name: "sweeper", Purpose: "recovers what a lost message or a dead worker left behind", MemoryMB: 256,
		Timeout: 5 * time.Minute, Every: time.Minute,
		Grants: []Grant{
			{OnTable, TableRegistry, []string{"dynamodb:BatchGetItem"}},
			{OnTable, TableJobs, []string{"dynamodb:GetItem", "dynamodb:BatchGetItem", "dynamodb:Query", "dynamodb:PutItem", "dynamodb:UpdateItem"}},
			{OnTable, TableLedger, []string{"dynamodb:PutItem"}},
			{OnBucket, BucketValues, []string{"s3:GetObject", "s3:PutObject"}},
			{OnQueue, QueueJobs, []string{"sqs:SendMessage"}},
			{OnQueue, QueueCallbacks, []string{"sqs:SendMessage"}},
			{OnMachine, MachineApprovals, []string{"states:StartExecution", "states:SendTaskSuccess"}},
		},
	}
}

// refresher compiles what businesses publish. It is a function of its own, apart from the sweeper, so that a specification which
// takes all the memory or time there is keeps no job from being recovered; and it alone of the two may open secrets.
func refresher() Function {
	return Function{
		Name: "refresher", Purpose: "reads due specifications from their URLs, and compiles stored ones anew after an upgrade",
		MemoryMB: 1024, Timeout: 5 * time.Minute, Every: time.Minute,
		Grants: []Grant{
			{OnTable, TableRegistry, []string{"dynamodb:BatchGetItem", "dynamodb:Query", "dynamodb:PutItem"}},
			{OnTable, TableLedger, []string{"dynamodb:PutItem"}},
			{OnBucket, BucketValues, []string{"s3:GetObject", "s3:PutObject"}},
			{OnKey, KeySecrets, []string{"kms:Decrypt"}},
		},
	}
}

// approvalWait is a function of its own, because the machine invokes it: a function that starts the machine cannot be deployed
// before the machine, nor the machine before what it invokes.
func approvalWait() Function {
	return Function{
		Name: "approvalwait", Purpose: "the tasks of an approval's wait: notify, hold the task token, expire", MemoryMB: 256, Timeout: WaitTimeout,
		Signs: true, Tells: true,
		Grants: []Grant{
			{OnTable, TableRegistry, []string{"dynamodb:BatchGetItem"}},
			{OnTable, TableJobs, []string{"dynamodb:BatchGetItem", "dynamodb:UpdateItem"}},
			{OnTable, TableLedger, []string{"dynamodb:PutItem"}},
			{OnBucket, BucketValues, []string{"s3:GetObject", "s3:PutObject"}},
			{OnKey, KeySecrets, []string{"kms:Decrypt"}},
			{OnMachine, MachineApprovals, []string{"states:SendTaskSuccess"}},
		},
	}
}
