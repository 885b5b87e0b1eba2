import { scorers } from 'agent-host'

export const { contains, tools } = scorers
