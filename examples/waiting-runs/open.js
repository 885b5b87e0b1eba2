import { openProject } from 'agent-host'

/** The project in this folder; runs that wait are in `responses/`. */
export function open() {
  const { RESPONSES_DIR: responsesDir = 'responses' } = process.env
  return openProject({ projectDir: import.meta.dirname, responsesDir, logLevel: 'warn' })
}
