import { isUtf8 } from 'node:buffer'
import { join, resolve } from 'node:path'
import {
  checkArguments,
  compileSchema,
  defineModule,
  messageOf,
  readRegularFile,
  Skills,
  ToolProvider,
  type ToolResult,
  Type,
} from 'agent-host'
import { chooseByName, chosenNames } from './lib/settings.ts'
import { type LoadedSkill, loadSkills, MAX_BYTES, SKILL_FILE } from './lib/skills/skill-folder.ts'

/** Characters of a file that a model gets at once. */
const PAGE_CHARACTERS = 64 * 1024

export default defineModule({
  name: 'SkillTools',
  description: 'Skills (folders with a SKILL.md) that a model loads when it needs them.',
  provides: [ToolProvider, Skills],
  scope: 'agent',
  config: Type.Object({
    folders: Type.Array(Type.String({ minLength: 1 }), {
      minItems: 1,
      default: ['skills'],
      description: 'Folders of the project: each a skill, or a folder of skills.',
    }),
    ...chosenNames('skills'),
  }),
  create: async (_, { folders, ...chosen }, { projectDir, watchFile, log }) => {
    const found: LoadedSkill[] = []
    for (const folder of folders) {
      watchFile(folder)
      found.push(...(await loadSkills(resolve(projectDir, folder), projectDir, log.warn)))
    }
    const named = chooseByName(found, chosen, {
      thing: 'skill',
      place: 'folders',
      remove: 'remove',
      nameOf: ({ name }) => name,
      placeOf: ({ dir }) => dir,
    })
    const skills: ChosenSkills = new Map([...named].sort(([one], [other]) => (one < other ? -1 : 1)))
    const tools = [makeLoad(skills), makeRead(skills)]
    const definitions = tools.map(({ definition }) => definition)
    return {
      listTools: () => definitions,
      async executeTool(name, args, run) {
        const tool = tools.find(({ definition }) => definition.name === name)
        if (!tool) throw new Error(`There is no tool '${name}'. Tools: load_skill, read_skill_file.`)
        run.signal.throwIfAborted()
        return tool.execute(args)
      },
      listSkills: () => [...skills.values()].map(({ dir: _dir, realDir: _real, text: _text, ...skill }) => skill),
      readSkillFile: async (name, path) => {
        const skill = skills.get(name)
        return skill?.files.some((file) => file.path === path) ? readWithin(skill, path) : undefined
      },
    }
  },
})

type ChosenSkills = ReadonlyMap<string, LoadedSkill>

/** Names and descriptions stand in the description of the tool: models see them with every request. */
function makeLoad(skills: ChosenSkills) {
  const parameters = Type.Object({
    name: Type.String({ enum: [...skills.keys()], description: 'Name of the skill.' }),
  })
  const list = [...skills.values()].map(({ name, description }) => `- ${name}: ${description}`).join('\n')
  const compiled = compileSchema(parameters)
  const description = `Loads the instructions of a skill. Load a skill before you begin a task that its description fits, and follow it. Skills:\n${list}`
  return {
    definition: { name: 'load_skill', description, parameters: { ...parameters } },
    async execute(args: unknown): Promise<ToolResult> {
      const { name } = checkArguments('load_skill', compiled, args)
      const { text, files } = skills.get(String(name)) as LoadedSkill
      const others = files.map(({ path }) => path).filter((path) => path !== SKILL_FILE)
      if (others.length === 0) return { text }
      return { text: `${text}\n\nFiles of this skill, for read_skill_file:\n${others.join('\n')}` }
    },
  }
}

function makeRead(skills: ChosenSkills) {
  const parameters = Type.Object({
    skill: Type.String({ enum: [...skills.keys()], description: 'Name of the skill.' }),
    path: Type.String({ minLength: 1, description: 'Path of the file, as load_skill and the skill name it.' }),
    offset: Type.Integer({ minimum: 0, default: 0, description: 'First character to read, of a long file.' }),
  })
  const compiled = compileSchema(parameters)
  const description = 'Reads a file of a skill. Scripts are only read: nothing runs them.'
  return {
    definition: { name: 'read_skill_file', description, parameters: { ...parameters } },
    async execute(args: unknown): Promise<ToolResult> {
      const checked = checkArguments('read_skill_file', compiled, args)
      const skill = skills.get(String(checked.skill)) as LoadedSkill
      const path = String(checked.path).replace(/^(\.\/)+/, '')
      const file = skill.files.find((each) => each.path === path)
      if (!file) {
        const known = skill.files.map((each) => each.path).join(', ')
        return { text: `The skill '${skill.name}' has no file '${path}'. Files: ${known}.`, isError: true }
      }
      const data = await readWithin(skill, path)
      if (isUtf8(data)) return { text: cut(data.toString(), Number(checked.offset)) }
      const text = `${path} is a binary file of ${data.length} bytes.`
      return { text, attachments: [{ mediaType: file.mediaType, data, name: path.split('/').at(-1) ?? path }] }
    },
  }
}

/** Reads what was a file when the agent was loaded: it may be a link by now. */
function readWithin({ dir, realDir, name }: LoadedSkill, path: string): Promise<Buffer> {
  return readRegularFile(join(dir, path), { maxBytes: MAX_BYTES, within: realDir }).catch((cause) => {
    throw new Error(`The file '${path}' of the skill '${name}' cannot be read: ${messageOf(cause)}.`, { cause })
  })
}

function cut(text: string, offset: number): string {
  const end = offset + PAGE_CHARACTERS
  const page = text.slice(offset, end)
  return end < text.length ? `${page}\n\n[cut: ${text.length} characters in all; read on with offset ${end}]` : page
}
