import { scorers } from 'agent-host'

// Each export gives every answer a score from 0 to 1. `agent-host eval` runs the cases of evals/*.jsonl.
export const { contains, tools } = scorers
