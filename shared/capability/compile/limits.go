package compile

// Bounds on a document and on what is made of it. Beyond them stands the diagnostic document_limits.
const (
	MaxDocumentBytes = 5 << 20   // core §4.2; for YAML also the size of its JSON form
	MaxDocumentNodes = 1_000_000 // values, aliases expanded
	MaxDocumentDepth = 128
	MaxAliasUses     = 100 // of each YAML anchor (core §4.4)

	MaxTools       = 5000
	MaxProperties  = 1000      // arguments of one tool
	MaxSchemaDepth = 64        // schemas inside each other, references followed
	MaxSchemaBytes = 256 << 10 // of one tool's input schema, references expanded
	MaxCatalogSize = 16 << 20  // bytes of all tools: schemas, extensions, guidance and other text
	MaxDiagnostics = 10_000

	maxDiagnosticPath  = 500       // UTF-16 units
	maxPointer         = 1000      // bytes
	maxSearches        = 2_000_000 // steps of finding the places of diagnostics, per document
	maxDiagnosticsEach = 100       // warnings of one operation; twice as many with errors
	maxWork            = 4_000_000 // elementary steps of resolving and merging per document
)
