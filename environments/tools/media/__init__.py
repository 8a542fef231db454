"""Sound and video files in and out of the workspace, through ffmpeg."""
