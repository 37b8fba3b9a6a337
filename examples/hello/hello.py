"""The smallest run: one metric, one tag, one file."""

from azureml.core import Run

run = Run.get_context()
print("hello from", run.id)
run.log("greeting", "hello")
for step in range(10):
    run.log("square", step * step, step=step)
run.tag("kind", "example")

with open("hello.txt", "w") as file:
    file.write("hello\n")
run.upload_file("outputs/hello.txt", "hello.txt")
