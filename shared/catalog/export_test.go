package catalog

// Scores is the score of each tool of the surface, in the order of its tools.
func (s *Surface) Scores(query string) []int { return s.scores(query) }

// Lower is lower.
var Lower = lower

// MaxCached is maxCached.
const MaxCached = maxCached

// PublicSchema is publicSchema.
var PublicSchema = publicSchema
