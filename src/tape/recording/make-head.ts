import { toAgentFile } from '../../definition/to-agent-file.ts'
import { isSecretName } from '../../redaction/secret-name.ts'
import type { BoundedAgent } from '../../run/calls/boundaries.ts'
import { VERSION } from '../../version.ts'
import { shownConfig } from '../../wiring/shown-config.ts'
import { type HeadLine, TAPE_FORMAT } from '../file/tape-lines.ts'
import { encodeValue, type JsonValue } from '../file/tape-values.ts'

type Environment = Readonly<Record<string, string | undefined>>

/** The head of a tape, without the hashes of files. */
export function makeHead(agent: BoundedAgent, environment: Environment): HeadLine {
  const { id, version, file, loaded } = agent
  const definition = toAgentFile(hideConfigs(agent))
  return {
    type: 'head',
    tape: TAPE_FORMAT,
    version: VERSION,
    agent: {
      id,
      version,
      file: file ?? null,
      definition: encodeValue(definition, () => {}) as Readonly<Record<string, JsonValue>>,
    },
    modules: agent.definition.modules.map(({ id: moduleId, module }) => {
      const { source = 'program', files = [] } = loaded.get(moduleId) ?? {}
      return { id: moduleId, module, source, files }
    }),
    files: {},
    environment: variablesOf(definition, environment),
  }
}

/** The definition without what its modules' schemas mark as secret. */
function hideConfigs({ definition, loaded }: BoundedAgent): BoundedAgent['definition'] {
  const modules = definition.modules.map((entry) => {
    const { module } = loaded.get(entry.id) ?? {}
    return module ? { ...entry, config: shownConfig(module.config, entry.config, entry.config).config } : entry
  })
  return { ...definition, modules }
}

function variablesOf(
  definition: Readonly<Record<string, unknown>>,
  environment: Environment,
): Readonly<Record<string, string>> {
  const names = [...JSON.stringify(definition).matchAll(/\$\{([A-Za-z_]\w*)/g)].map(([, name = '']) => name)
  const shown = [...new Set(names)].filter((name) => !isSecretName(name))
  return Object.fromEntries(
    shown.flatMap((name) => (environment[name] === undefined ? [] : [[name, environment[name]]])),
  )
}
