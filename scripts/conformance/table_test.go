package conformance_test

// deliberate is every way in which the replay may differ from the recordings of the reference hub, which is older than the contract.
var deliberate = []difference{
	// Runs.
	{"run-dup-changed run-dup-changed-route", "payload_mismatch added", "D3: a replay with another payload says so"},
	{"run-query-token", "status 202, ours 401", "core §0.2: tokens in the query end up in logs"},
	{"job-query-token", "status 200, ours 401", "core §0.2: tokens in the query end up in logs"},
	{"run-token-uppercase", "status 202, ours 401", "core §0.2: tokens are lower-case hexadecimal and compared exactly"},
	{"run-exec-token", "status 403, ours 401", "D35: there are no executors yet, so nobody has such a token"},
	{"run-callback-misnamed", "status 400, ours 202", "D1: callback is another name of callback_url"},
	{"run-bad-json", "status 500, ours 400", "D17, core §0.1: a body that is not JSON is the caller's fault"},
	{"run-cb-600", "status 500, ours 202", "core §1.1: callback_url has up to 2048 characters"},
	{"run-long-app-id", "status 500, ours 202", "core §10.4: an app_id has up to 64 characters"},
	{"run-race-same-request-id", "status 500, ours 202", "core §1.2: the losers of a race get the job of the winner"},
	{"run-rate-3", "retry_after_ms added", "core §1.8: additional members are allowed; it says when to try again"},
	{"run-case-*", "job_id: another one than before | request_id * | status running, ours queued | continue added | route added | session_id added | target added",
		"core §1.2: a request id is exactly what was sent; case, blanks and accents tell two apart"},

	// Jobs.
	{"job-* tool-*-job approval-*-job cb-*-recv*", "no input | no profile | no project | no client_app_id | no dispatch", "D5: an owner sees an allowlist, never prompts or target configuration"},
	{"job-running approval-continuing-job", "no claimed_at | no lease_until | no executor_id | no claim_token", "D5: an owner sees an allowlist, never claims"},
	{"job-retry-wait", "no run_after", "D5: scheduling is internal"},
	{"job-* tool-*-job approval-*-job cb-*-recv*", "id added | route added", "D5: both id and job_id, and the route"},
	{"job-* tool-*-job approval-*-job cb-*-recv*", "result added, null | report added, null | raw_result added, null | usage added, null | error added, null", "core §1.8: optional members are null until they exist"},
	{"job-* tool-*-job approval-*-job cb-*-recv*", "usage.num_turns added", "core §1.6 lists it"},

	// Callbacks and the webhooks of routes.
	{"cb-*-recv* delivery-*-recv", "header webhook-id added | header webhook-timestamp added | header webhook-signature added", "D7: signed in the style of Standard Webhooks, too"},
	{"cb-*-recv* delivery-*-recv", "terminal_seq added", "architecture §3: a receiver can drop an older event that arrives late"},
	{"cb-redirect302-recv-2 cb-redirect307-recv-2", "request not sent", "D14, I7: redirects are final"},
	{"cb-redirect302-audit cb-redirect307-audit", "callback.severity info, ours error | callback.detail.reason added", "the same: nobody took the message"},
	{"cb-500-audit cb-reset-audit", "callback.detail.final true, ours false | callback.severity error, ours warning | no callback.detail.error | callback.detail.reason added | callback.detail.next_attempt_at added",
		"D7: the third failed attempt is not the last"},
	{"cb-500once-audit cb-429once-audit cb-500-audit cb-reset-audit", "more of callback", "D7: every attempt is recorded, not only the last"},
	{"cb-*-audit", "no callback.detail.url | callback.detail.recipient added | no callback.detail.ok | callback.detail.state added | callback.detail.final added | callback.detail.id added",
		"D7: the delivery log names the row, its recipient and what became of it"},
	{"cb-*-audit", "callback.detail.status added", "the status of every answer, not only of a refusal"},
	{"cb-400-audit", "callback.detail.reason added", "why the message became a dead letter"},
	{"cb-*-audit", "callback.stage system, ours delivery", "core §11.7 has a stage for deliveries"},

	// Approval requests.
	{"approval-*-recv", "header webhook-id added | header webhook-timestamp added | header webhook-signature added", "D7: signed in the style of Standard Webhooks, too"},
	{"approval-*-recv", "expires_at added", "D9: a ticket has a deadline, which whoever decides should know"},
	{"approval-*-recv", "decision_url added", "architecture §4: the absolute twin of decision_path"},

	// Approvals by administrators, and the job that goes on.
	{"approval-admin-list", "[].args_bytes added | [].client_app_id added | [].expires_at added | [].route_key added", "core §1.8: additional members are allowed; D9, and whose call it is"},
	{"approval-admin-approve-again", "status added | expires_at added | decided_by added | decided_at added", "the person need not look up what was decided, and by whom"},
	{"approval-continuing-job", "result is object, ours null | usage is object, ours null", "the answer of the run before is no answer to the one that is under way"},

	// Tools.
	{"tool-badargs-recv tool-missing-required-recv tool-wrong-type-recv", "request not sent", "core §5.5: arguments are validated before anything is sent"},
	{"tool-badargs-audit tool-missing-required-audit tool-wrong-type-audit", "no tool_call | no tool_result", "the same: a call that is not sent has no such records"},
	{"tool-badargs-audit tool-missing-required-audit tool-wrong-type-audit tool-limited-audit tool-subject-missing-audit tool-unknown-audit",
		"tool_blocked added", "core §5.3: every refusal is recorded, also those of a limit, of an unknown tool and of arguments"},
	{"tool-transfer-type-audit", "tool_blocked.detail.reason confirm_when_argument_type:amount, ours argument_type:amount", "core §5.3: arguments are validated before approval rules are evaluated"},
	{"tool-hang-write-job tool-reset-write-job", "usage.tokens added", "core §1.6: what the model cost before the job ended is known"},
	{"tool-hang-rerun-job", "result.text added | usage is object, ours null", "core §5.9: the text that a person reads; a run that asks no model costs nothing"},
	{"tool-hang-rerun-audit", "fewer of started", "core §5.8: a run that ends before any model is asked was not started"},
	{"tool-hang-write-job tool-hang-rerun-job", "result.tool_execution.reason 超时（1500ms）, ours timeout", "why there is no answer, as a code"},
	{"tool-reset-write-job", "result.tool_execution.reason TypeError: fetch failed, ours no_answer", "the same"},

	// Audit records, which are an operator's view and no contract (core, Appendix C).
	{"job-retry-audit tool-*-audit approval-*-audit cb-*-audit", "*.job_id added", "core §11.7 lists it"},
	{"job-retry-audit tool-*-audit approval-*-audit cb-*-audit", "no inhub_claimed", "one record, started, names the worker and its claim"},
	{"job-retry-audit", "no llm_request", "a model call that failed is told by retry_scheduled and finished"},
	{"approval-*-audit", "tool_approval_pending.detail.args_hash added | tool_approval_pending.detail.expires_at added | tool_approval_pending.detail.policy added | tool_approval_pending.detail.reason added",
		"core §6.2, D9: what the ticket stands for, and until when"},
	{"tool-*-audit approval-*-audit", "more of llm_request", "one for each round, not for the job"},
	{"approval-continued-audit approval-denied-audit", "*_external.stage tool, ours approval", "core §11.7 has a stage for approvals"},
	{"approval-continued-audit approval-denied-audit", "*_external.detail.rerun added", "core §6.7: what the decision did to the job"},
	{"approval-denied-audit", "*_external.detail.by [object Object], ours u_manager | *_external.detail.approver_name added", "D8, Appendix A 12: the id and the name of an approver that is an object"},
	{"approval-continued-audit approval-denied-audit", "no *_external.detail.policy | no *_external.detail.reason | no *_external.detail.summary | *_external.detail.args_hash added",
		"I3: what was decided is named by its hash; why a person was asked is in the record of the question"},
	{"approval-continued-audit", "approval_taken_up added", "architecture §3: the hub makes the approved call itself"},
	{"tool-*-audit approval-continued-audit", "tool_call.detail.args is text, ours object | tool_call.detail.args is text, ours list", "core §5.11: the arguments as JSON; a text only when they had to be cut"},
	{"tool-*-audit approval-continued-audit", "tool_result.detail.governance_state added", "core §5.9: what the outcome means, beside its status"},
	{"tool-sensitive-audit", "tool_call.detail.args_bytes added", "a size tells an operator how much was sent, and nothing of it"},
	{"tool-nonascii-audit", "tool_call.detail.args_bytes 22, ours 27 | tool_result.detail.resp_bytes 56, ours 61", "bytes are counted, not characters"},
	{"tool-write-twice-audit", "tool_call_deduped.detail.reason *", "texts are not contract"},
	{"tool-hang-write-audit tool-hang-rerun-audit tool-reset-write-audit", "tool_reconciliation_required.detail.reason *", "why there is no answer, as a code"},
	{"tool-hang-write-audit tool-hang-rerun-audit tool-reset-write-audit", "tool_reconciliation_required.detail.duration_ms added | tool_reconciliation_required.detail.evidence added",
		"D30: without an answer the record holds the evidence of how far the request came"},
	{"tool-hang-write-audit tool-hang-rerun-audit tool-reset-write-audit", "tool_reconciliation_required.severity info, ours error | job_reconciliation_required.severity info, ours error",
		"I4: somebody has to act"},
	{"tool-prefix-audit tool-boom-audit tool-html-audit tool-fail-write-audit", "tool_result.severity error, ours warning", "a business that says no is no failure of the hub"},
	{"tool-hang-read-audit", "no tool_result.detail.resp | no tool_result.detail.resp_bytes | tool_result.detail.connected added | tool_result.detail.reason added | tool_result.detail.sent added | tool_result.detail.timeout added",
		"D30: without an answer the record holds the evidence of how far the request came"},
	{"tool-transfer-type-audit", "no tool_blocked.detail.scope | tool_blocked.detail.retry_after_ms added | tool_blocked.detail.status added", "a refusal may concern a tool that does not exist; limits say when to try again"},

	// Health and version.
	{"health paused-health", "no observability", "core §1.7: optional; a call whose audit record cannot be written is not made"},
	{"health-ready", "checks.state_backend is text, ours object", "core §1.7 says an object"},
	{"version", "contracts.boundary bailing.contract.v2.13, ours bailing.contract.v2.14", "core §1.7: the recorded hub is older"},
	{"version", "contracts.clientApiVersion added", "core §1.7: the version of the client API, 1.0.0"},
	{"health-post unknown-path-anon", "status 401, ours 404", "core §0.1: no such path; the gateway answers before anybody is authenticated"},
	{"admin-unknown job-post run-get unknown-path-auth", "content-type application/json; charset=utf-8, ours application/json", "core §0.1: no such path; the gateway answers before any function does, and names no charset"},

	// Tool providers.
	{"admin-provider-upsert setup-provider-prefix provider-save-url provider-public-policy provider-refresh-protected provider-refresh-unchanged provider-refresh-public-allowed provider-probe provider-list",
		"*authz_probe.reason *", "texts are not contract"},
	{"provider-debug-invoke-risky", "reason *", "the same"},
	{"admin-clients admin-credentials admin-routes admin-targets provider-list", "[].revision added", "core §1.8: additional members are allowed; expected_revision names it"},
	{"admin-config-audit", "[].by token, ours admin | [].method POST, ours GET | [].path * | [].event added", "core §10.2: reveals are on record, and the list shows them, too"},
	{"admin-me admin-me-token", "capabilities.modules has 19 entries, ours *", "a console must not offer what answers 404"},
	{"provider-list", "no [].spec_access_probe.reason", "core §4.1: optional; a public specification of public_allowed needs none"},
	{"provider-refresh-*", "spec_access_probe added", "core §4.2: what was seen, also when the refresh fails"},
	{"provider-refresh-protected", "added describes tools, ours names them", "core §4.3: lists of tool names; `changes` holds the fingerprints"},
	{"provider-refresh-protected provider-refresh-unchanged provider-refresh-public-allowed", "weakened added", "the changes that a person should look at first"},
	{"provider-debug-invoke-risky", "request.headers.x-bailing-idempotency-key added", "I1: a call with side effects has a key of its own"},

	// Configuration.
	{"setup-route-ref_budget", "status 200, ours 400", "core §10.4: a budget is a closed object, and max_jobs is none of its members"},
	{"admin-routes", "no ref_budget", "the same"},
	{"admin-clients", "no [].last_used_at", "core §10.4 does not list it; no request writes to configuration"},
	{"schema-config", "no properties.allowed_* | properties.allowed_* added", "D34: written here; lists of names are shared definitions"},
	{"schema-config", "properties.rate_limit_per_min.default added | properties.agent_authorize_url added", "core §10.4 lists both"},
}
