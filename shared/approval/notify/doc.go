// Package notify tells those who may decide that a call waits for their approval (core §6.4, D31).
//
// Whom, and how, is the member tools.approval of the ticket's route as it is now, else the hub's own alert configuration:
//
//	business_webhook, approval_webhook    the approval request, for a system that decides by itself     approval_intent_webhook
//	webhook                               a message for people, with the same facts                     approval_notify
//	anything else, or nothing             nobody can be told                                            approval_notify_skipped
//
// The last column is the audit record, which says what came of it and holds no body. Messages are signed like callbacks: with the
// present token of the client that owns the job, else, and for the hub's own configuration, with the server token.
//
// Notifying is a task of the ticket's wait (package approval, Keeper.Notify). 2xx ends it. 408, 425, 429, 5xx and no answer at all are an
// error, so that the task is run again; every other status is final. The task may run twice, and may die between the answer and
// its record: the receiver then gets the same bytes again, with the webhook-id that all messages about this ticket have. Nothing
// about the ticket depends on whether anybody was told: it can be decided before, after and without a message.
//
// What is told is the frozen intent, with the arguments as they were frozen. Two kinds of arguments stay here, and are read with
// GET /approvals/{id}/arguments: those over [ArgsMax] bytes, and those of a tool that is declared sensitive, which leave the hub only
// with the call, or for somebody who proves who asks (I10). The message then has their hash and size, and where to read them.
package notify
