import type { TenantRuns } from '../../../../durable/adapter-runs/adapter-runs.ts'
import type { Attachment } from '../../../../protocols/message.ts'
import { fromAttachmentJson } from '../../../../run/attachment-json.ts'

/** Reads what a run that has ended has answered beside text. */
export async function readAttachments(runs: TenantRuns, id: string): Promise<readonly Attachment[]> {
  let attachments: Attachment[] = []
  for await (const event of runs.follow(id)) {
    if (event.type === 'restart') attachments = []
    else if (event.type === 'attachment') attachments.push(fromAttachmentJson(event.attachment))
  }
  return attachments
}
