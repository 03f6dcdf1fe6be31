// Package apierr is the one error type that crosses the product's surfaces: a stable code, the text and members a
// caller may see, and a private cause that only logs see (architecture §6).
//
// One table maps codes to HTTP statuses; [Write] is the only place that turns an error into a response, so
// internal text cannot reach a caller by accident. Errors of other packages are wrapped with [Wrap] and compared
// with errors.Is/As, never by text.
package apierr
