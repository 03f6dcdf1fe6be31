package compile

// The codes of diagnostics (core §4.7, D37). Codes of core §4.7 that are not here have no document that leads to them:
// they belong to values that this compiler never takes over.
const (
	// of the document
	codeInvalidSpec       = "invalid_spec"
	codeDocumentLimits    = "document_limits"
	codeInvalidAuthzProbe = "invalid_authz_probe"

	// of references and schemas
	codeRefUnresolved  = "ref_unresolved"
	codeRefCycle       = "ref_cycle"
	codeSchemaConflict = "schema_conflict"

	// of an operation
	codeInvalidCapability      = "invalid_agent_capability"
	codeUnsupportedVersion     = "unsupported_version"
	codeDeprecated             = "deprecated"
	codeMissingScope           = "missing_scope"
	codeInvalidScope           = "invalid_scope"
	codeInvalidName            = "invalid_name"
	codeNameTooLong            = "name_too_long"
	codeDuplicateName          = "duplicate_name"
	codeReservedName           = "reserved_name"
	codeMissingOperationID     = "missing_operation_id"
	codeMissingSummary         = "missing_summary"
	codeDescriptionTruncated   = "tool_description_truncated"
	codeUsageGuidanceTruncated = "tool_usage_guidance_truncated"
	codeInvalidMethod          = "invalid_method"
	codeInvalidPath            = "invalid_path"
	codeInvalidBoolean         = "invalid_boolean"
	codeInvalidTimeoutType     = "invalid_timeout_type"
	codeInvalidTimeout         = "invalid_timeout"
	codeInvalidContext         = "invalid_context"

	// of inputs
	codeUnsupportedLocation     = "unsupported_param_location"
	codeInvalidParamIn          = "invalid_param_in"
	codeInvalidParamLocation    = "invalid_param_location"
	codeParamWithoutSchema      = "param_location_without_schema"
	codeParamNotSendable        = "param_not_sendable"
	codeParamMissingDescription = "param_missing_description"
	codePathParamMissing        = "path_param_missing"
	codePathParamNotInPath      = "path_param_not_in_path"
	codeReservedHeader          = "reserved_header"
	codeWriteWithoutSchema      = "write_without_schema"
	codeUnsupportedBody         = "unsupported_body"
	codeInvalidSchema           = "invalid_input_schema"
	codeInvalidProperties       = "invalid_input_schema_properties"
	codeInvalidRequired         = "invalid_input_schema_required"
	codeRequiredParamUndeclared = "required_param_missing_schema"
	codeInvalidConfirmWhen      = "invalid_confirm_when"
	codeInvalidConfirmWhenParam = "invalid_confirm_when_param"
	codeInvalidConfirmWhenOp    = "invalid_confirm_when_op"
	codeInvalidConfirmWhenValue = "invalid_confirm_when_value"
	codeConfirmWhenUndeclared   = "confirm_when_param_missing_schema"
	codeConfirmWhenUntyped      = "confirm_when_param_untyped"
	codeConfirmWhenNumericType  = "confirm_when_numeric_type"
	codeConfirmWhenInType       = "confirm_when_in_type"
	codeConfirmWhenContainsType = "confirm_when_contains_type"
	codeConfirmWhenValueType    = "confirm_when_value_type"
	codeTooManyRules            = "too_many_rules"
)
