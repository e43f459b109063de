// memory-core: before opencode compacts a session, a copy of it saves what should last. Written by `memory-core install opencode`.
import { spawn } from "node:child_process"

const COMMAND = ["memory-core", "hook", "opencode"]

// Hand an event to memory-core, and wait until it has been dealt with; fails where that cannot be.
const tell = (event, cwd) =>
  new Promise((resolve, reject) => {
    const child = spawn(COMMAND[0], COMMAND.slice(1), { cwd, stdio: ["pipe", "ignore", "ignore"] })
    child.on("error", reject)
    child.on("close", resolve)
    child.stdin.on("error", () => {})
    child.stdin.end(JSON.stringify(event))
  })

export const MemoryCore = async ({ client, directory }) => {
  if (process.env.MEMORY_CORE_SAVING) return {} // this is a copy
  return {
    "experimental.session.compacting": async ({ sessionID }) => {
      try {
        const { data: messages } = await client.session.messages({ path: { id: sessionID } })
        // A copy with the message that asks for the compaction would begin with it.
        const asking = messages.findLast(({ parts }) => parts.some(({ type }) => type === "compaction"))
        const body = asking ? { messageID: asking.info.id } : {}
        const { data: copy } = await client.session.fork({ path: { id: sessionID }, body })
        try {
          const event = { hook_event_name: "PreCompact", session_id: sessionID, copy_id: copy.id, cwd: directory }
          await tell(event, directory)
        } finally {
          await client.session.delete({ path: { id: copy.id } })
        }
      } catch (error) {
        // The compaction goes on whatever happens.
        const extra = { error: String(error) }
        const said = { service: "memory-core", level: "error", message: "no notes were saved before this compaction", extra }
        await client.app.log({ body: said }).catch(() => {})
      }
    },
  }
}
