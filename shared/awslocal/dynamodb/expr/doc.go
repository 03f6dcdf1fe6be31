// Package expr parses and evaluates DynamoDB's expressions: conditions and filters, key conditions, projections and
// updates.
//
// A request owns one [Params], the placeholders of all its expressions. Every expression is parsed through it, then
// [Params.Finish] refuses placeholders that none of them used:
//
//	params, err := expr.NewParams(names, values)
//	condition, err := params.Condition("ConditionExpression", source)
//	update, err := params.Update(source)
//	err = params.Finish()
//	if condition.Eval(item) { item, err = update.Apply(item) }
//
// Everything that can be known from the request alone is refused by the parser (reserved words, operand types of
// literal values, overlapping paths, limits); what depends on the stored item is decided by evaluation. A condition never
// fails on an item, it is just false; an update can fail, and then changes nothing.
//
// Evaluation never modifies its input: an update copies what it changes, so old and new item may be used side by side.
//
// Tables and their keys are unknown here. Errors are [*Error], fit for a ValidationException.
package expr
