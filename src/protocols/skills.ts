import { defineProtocol } from './protocol.ts'
import type { Run } from './run.ts'

/** File of a skill. */
export interface SkillFile {
  /** Relative to the folder of the skill, with `/`. */
  readonly path: string
  readonly bytes: number
  /** SHA-256 of its bytes, as 64 hexadecimal digits. */
  readonly sha256: string
  readonly mediaType: string
}

/** A folder of instructions (https://agentskills.io/specification). */
export interface Skill {
  readonly name: string
  readonly description: string
  /** Everything above the text of its `SKILL.md`. */
  readonly frontMatter: Readonly<Record<string, unknown>>
  /** `SKILL.md` included, in the order of their paths. */
  readonly files: readonly SkillFile[]
}

/**
 * Skills that clients of MCP may read, if the agent exposes them.
 *
 * @example
 * ```ts
 * export const oneSkill = defineModule({
 *   name: 'OneSkill',
 *   provides: [Skills],
 *   create: () => ({
 *     listSkills: () => [{ name: 'refunds', description: 'Rules of refunds.', frontMatter: {}, files: [] }],
 *     readSkillFile: async () => undefined,
 *   }),
 * })
 * ```
 */
export interface Skills {
  /**
   * Returns the skills, in the order of their names.
   *
   * @remarks The MCP adapter calls it for each list and each read of a client, where the agent exposes its skills.
   */
  listSkills(run: Run): readonly Skill[]
  /**
   * Returns a file of a skill; `undefined` for a skill or a file that does not exist.
   *
   * @remarks The MCP adapter calls it for each file that a client reads.
   * @throws unknown fails the read
   */
  readSkillFile(skill: string, path: string, run: Run): Promise<Uint8Array | undefined>
}
export const Skills = defineProtocol<Skills>('Skills', ['listSkills', 'readSkillFile'])
