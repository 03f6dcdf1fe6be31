// Package scripted is a pretend language model behind the OpenAI chat-completions protocol (decision D28). It lets a
// newcomer watch the product call tools without an account anywhere, and lets tests say exactly what "the model" does.
//
//	POST /v1/chat/completions   plain and streamed ("stream": true)
//	GET  /v1/models
//
// The server keeps no state and draws no random numbers: the same conversation gets the same answer, ids included.
// Everything is worked out from the messages of one request. A turn begins at the last user message; assistant messages
// after it are the rounds already played. A user message that follows a tool result, an empty answer or leaked tool
// mark-up is a note of the caller and begins no turn.
//
// # Free text
//
// Without a script, a handful of rules read English questions about an order system, pick the tool of the request
// that fits by name, description and parameters, and put its result into a sentence. A failure is reported as one.
//
//	where is order SO-1001          looks the order up
//	list orders for Ada             searches orders
//	open a ticket about a dent      creates a ticket
//	refund SO-1001 25.00            asks for a refund
//	break something                 calls the operation that always fails
//
// # Scripts
//
// Directives in the turn's user message replace the rules; all other text of the message is then ignored.
//
//	[[say TEXT]]          answer text; several are joined by a space
//	[[tool NAME {json}]]  a tool call; several in one round are several calls; text that is not JSON is sent as it is
//	[[round]]             what follows belongs to the next round
//	[[empty]]             an answer without text
//	[[sleep MS]]          wait first, at most 15 minutes
//	[[status CODE]]       answer with this HTTP status (400 to 599); not a round, so a retry gets it again
//	[[malformed]]         answer 200 with a body that is not JSON; not a round either
//
// After the last round the tool results, if any, are put into words as without a script.
package scripted
