import { Args } from '@oclif/core'
import { didYouMean } from '../../definition/nearest-name.ts'
import { badProject } from '../../errors.ts'
import { BaseCommand } from '../base-command.ts'
import { KeysDocument, keysFlag } from './keys-document.ts'

export default class KeysRevoke extends BaseCommand {
  static override description =
    'Removes the keys of a name from the file of keys. Servers refuse them within two seconds, and end what they have opened.'
  static override examples = ['agent-host keys revoke ci']
  static override args = { name: Args.string({ description: 'Name of the keys', required: true }) }
  static override flags = { keys: keysFlag() }

  override async run(): Promise<void> {
    const { args, flags } = await this.parse(KeysRevoke)
    this.requireProject()
    const document = await KeysDocument.open(this.pathOf(flags.keys))
    const names = [...new Set(document.read.keys.map(({ name }) => name))]
    if (!names.includes(args.name)) {
      const suggestions = didYouMean(args.name, names)
      throw badProject(`${flags.keys} has no key of '${args.name}'.`, { suggestions })
    }
    if (names.length === 1) {
      // Servers keep the last good version of a file that is empty: the key would stay valid.
      throw badProject(
        `'${args.name}' is the only name in ${flags.keys}, which may not be empty. Nothing has changed.`,
        {
          suggestions: [
            'Add another key first: agent-host keys add <name>',
            'Or stop the servers, and delete the file.',
          ],
        },
      )
    }
    document.remove(args.name)
    await document.save()
    const count = document.read.keys.filter(({ name }) => name === args.name).length
    this.log(`${count === 1 ? 'The key' : `${count} keys`} of '${args.name}' will be refused within two seconds.`)
  }
}
