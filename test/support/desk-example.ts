import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const DESK = fileURLToPath(new URL('../../examples/desk/', import.meta.url))

/** Files of `examples/desk`, by their paths. */
export const DESK_FILES: Readonly<Record<string, string>> = Object.fromEntries(
  ['agents', 'modules', 'tools', 'prompts', 'evals'].flatMap((folder) =>
    readdirSync(join(DESK, folder), { withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map(({ name }) => [`${folder}/${name}`, readFileSync(join(DESK, folder, name), 'utf8')]),
  ),
)

/** Questions to the desk. */
export const REFUND = 'Please refund invoice INV-7, 40 euros. It arrived broken.'
export const RETURNS = 'What do your articles say about returns?'
