import { Flags } from '@oclif/core'
import { SERVER_OPTIONS } from '../../server/options/options.ts'

const { variable, description, default: fallback } = SERVER_OPTIONS.agentDir

export const DEFAULT_AGENT_DIR = fallback

/** Flag of the commands that open agents without a server of their own; {@link DEFAULT_AGENT_DIR} when left out. */
export const agentDirFlag = Flags.string({
  description: `${description} [default: ${fallback}]`,
  env: variable,
  helpGroup: 'project',
})
