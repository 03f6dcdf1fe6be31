// Package openai speaks OpenAI chat completions (core §11.2): POST <base_url>/chat/completions without streaming, one
// send per round, at most 8 MiB of answer.
//
// Servers that call themselves compatible differ, so the adapter is strict in what it sends and lenient in what it
// reads: content may be null, text or a list of parts, tool calls may lack ids or carry arguments as an object, usage
// may be missing. What still makes no sense is an unparsable response, a transient failure. It sends only what
// every such server accepts: no tool_choice, no max_tokens, no stream options, and in the echo of earlier tool calls only
// arguments that are a JSON object, because some servers refuse a conversation that holds anything else.
package openai
