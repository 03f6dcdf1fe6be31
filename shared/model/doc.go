// Package model is what a job worker says to a language model and hears back: requests, messages, tool calls, usage,
// and failures sorted into those worth another attempt and those that are not (core §11.2).
//
// Nothing here does I/O. Adapters in the folders below implement [Client] for one wire protocol each:
//
//	openai   any endpoint that speaks OpenAI chat completions
//
// The package decides nothing about a conversation. Which tools a model may see, how many rounds it gets, what an
// empty answer or leaked tool mark-up ([Violation]) leads to belongs to the worker that owns the loop. Arguments of
// tool calls stay the text that the model wrote, because it may be malformed and the worker has rules for that.
//
// Promise (invariant I10): the API key appears in no error text, even when the far end repeats it.
package model
